"""A process that has loaded the libraries of training, and forks one of its own for each item.

Loading them takes five seconds of processor time, a step of a small policy a fraction of one. The forked process is new
as any other: it has its own memory and random numbers, and all of it is free again when the item ends. This one does
nothing itself: no thread, no model, no GPU. It ends with whoever started it, and when nothing was asked for a while.

A request is a line: {"request": …, "output": PATH, "problems": PATH}. The answer is the exit code of the process of the
item, whose standard output and standard error go to those files.
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
from lumos_queue.util.process import die_with_parent

IDLE_SECONDS = 120.0  #: after which the memory is worth more than the time to load the libraries again


def main() -> None:
    requests = sys.stdin.buffer
    poller = select.poll()
    poller.register(requests, select.POLLIN)
    while poller.poll(IDLE_SECONDS * 1000) and (line := requests.readline()):
        sys.stdout.write(f"{_fork(json.loads(line))}\n")
        sys.stdout.flush()


def _fork(request: dict[str, Any]) -> int:
    """Carry the item out in a new process; returns its exit code, that of a signal as a negative number."""
    _preload(request["request"])
    parent, child = os.getpid(), os.fork()
    if not child:
        _become_item(request, parent)
    child_fd = os.pidfd_open(child)
    poller = select.poll()
    poller.register(child_fd, select.POLLIN)
    poller.register(sys.stdin, 0)  # that its other end is closed is told in any case
    if all(descriptor != child_fd for descriptor, _ in poller.poll()):  # whoever asked is gone
        os.kill(child, signal.SIGKILL)
    os.close(child_fd)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _become_item(request: dict[str, Any], parent: int) -> None:
    """In the new process: never returns."""
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
    """Import what the item will need, and nothing else. What cannot be is left to the item, which says why."""
    from lumos_queue.training.rltf.checkpoint import import_architecture

    with contextlib.suppress(Exception):
        import_architecture(from_launch(request["train"]["start"]))


if __name__ == "__main__":
    main()
