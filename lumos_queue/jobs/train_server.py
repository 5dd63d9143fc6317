"""A process that loads the libraries of training, and forks a process for each item.

Loading the libraries takes five seconds of processor time, but a step of a small policy takes a fraction of a second.
A forked process has its own memory and random numbers, and its end releases everything. The server itself has no
thread, model or GPU. It ends with the process that started it, and after a time without requests.

A request is a line: {"request": …, "output": PATH, "problems": PATH}. The item's process writes its standard output to
the file `output` and its standard error to the file `problems`. The server answers with the exit code of this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import traceback
from typing import Any

from lumos_queue.jobs.train_child import carry_out
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.process import die_with_parent

IDLE_SECONDS = 120.0  #: after which the server ends to free its memory


def main() -> None:
    requests = sys.stdin.buffer
    poller = select.poll()
    poller.register(requests, select.POLLIN)
    while poller.poll(IDLE_SECONDS * 1000) and (line := requests.readline()):
        sys.stdout.write(f"{_fork(json.loads(line))}\n")
        sys.stdout.flush()


def _fork(request: dict[str, Any]) -> int:
    """Run the item in a new process. Return its exit code, or the negative number of the signal that ended it."""
    _preload(request["request"])
    parent, child = os.getpid(), os.fork()
    if not child:
        _become_item(request, parent)
    child_fd = os.pidfd_open(child)
    poller = select.poll()
    poller.register(child_fd, select.POLLIN)
    poller.register(sys.stdin, 0)  # a closed other end is reported even so
    if all(descriptor != child_fd for descriptor, _ in poller.poll()):  # the caller has ended
        os.kill(child, signal.SIGKILL)
    os.close(child_fd)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _become_item(request: dict[str, Any], parent: int) -> None:
    """Run the item in the new process, and end that process."""
    code = 1
    try:
        die_with_parent(parent)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, name in ((1, "output"), (2, "problems")):
            os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        code = carry_out(request["request"])
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _preload(request: dict[str, Any]) -> None:
    """Import the modules that the item needs. If that fails, the item reports the error."""
    with import_libraries():
        from lumos_queue.training.rltf.checkpoint import import_architecture

    with contextlib.suppress(Exception):
        import_architecture(from_launch(request["train"]["start"]))


if __name__ == "__main__":
    main()
