"""A helper process that runs this project's code in its own session, with pipes, and ends with its parent.

The child has only the variables that it was started with, `/` as its folder, no open files but its pipes, and limits
that it sets before it imports large modules (`enter`). A fork of the parent does not end the child.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lumos_queue.util.process import die_with_parent

_ROOT = Path(__file__).resolve().parents[2]
#: The code of the child. Its arguments: this project's folder, the module, the kind of limit, bytes, the parent's id.
_START = """
import sys
sys.path.insert(0, sys.argv[1])
from lumos_queue.util.child_process import enter
enter(sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
import importlib
importlib.import_module(sys.argv[2]).main()
"""
#: Kinds of limits of a child's memory: all its address space, or only writable memory (libraries such as torch map
#: gigabytes that they never touch).
ADDRESS_SPACE, DATA = "AS", "DATA"


class ChildProcess:
    """A process that runs `module.main()`. It is killed by `end`, or when this object is garbage-collected."""

    def __init__(self, module: str, limit: str, memory: int, variables: Mapping[str, str]):
        """Start the process. `limit` is ADDRESS_SPACE or DATA, `memory` is in bytes. Raises OSError on failure."""
        arguments = [str(_ROOT), module, limit, str(memory), str(os.getpid())]
        self._process: Any = subprocess.Popen(
            [sys.executable, "-s", "-P", "-c", _START, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env={"PYTHONHASHSEED": "0", **variables},
            cwd="/",
            start_new_session=True,
        )
        self.pid = self._process.pid
        self.stdin: int = self._process.stdin.fileno()
        self.stdout: int = self._process.stdout.fileno()
        self._finalizer = weakref.finalize(self, _end, self._process, os.getpid())

    def wait(self, seconds: float) -> None:
        """Wait until the process has ended, at most `seconds`."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return

    def kill(self) -> None:
        """Kill the process. A thread that reads its output sees the end, and ends the process itself."""
        self._process.kill()

    def end(self) -> int:
        """Kill the process and return its exit status."""
        self._finalizer.detach()
        return _end(self._process, os.getpid())


def _end(process: Any, owner: int) -> int:
    """Close the pipes of a process, kill it and wait for it. In a fork of its owner, only close the pipes."""
    for pipe in (process.stdin, process.stdout):
        pipe.close()
    if os.getpid() != owner:
        process.returncode = 0
        return 0
    process.kill()
    return process.wait()


def enter(limit: str, memory: int, parent: int) -> None:
    """Limit this process, the child, before it imports large modules. Exit at once if the parent has ended."""
    die_with_parent(parent)
    resource.setrlimit(getattr(resource, f"RLIMIT_{limit}"), (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
