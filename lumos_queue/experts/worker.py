"""Control an expert's process from the host: start it, send it one sample at a time, and end it."""

from __future__ import annotations

import json
import os
import time

from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.experts.backends.base import Loading
from lumos_queue.experts.frames import (
    PROBLEM,
    READY,
    VALUE,
    BadFrame,
    DeadlinePassed,
    PipeClosed,
    pack,
    read_frame,
    unpack,
    write_frame,
)
from lumos_queue.experts.problems import BAD_OUTPUT, DIED, TIMEOUT, Problem
from lumos_queue.util.child_process import DATA, ChildProcess
from lumos_queue.util.wording import format_limit

#: Each expert has one thread, because many of them share the machine with the worker. Downloads are disabled.
_VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "HF_HUB_OFFLINE": "1",
    "HOME": "/nonexistent",
    "PATH": "/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class ProcessStopped(Exception):
    """Raised when the process has ended without an answer. `kind` is the kind of the Problem that it becomes."""

    def __init__(self, kind: str, message: str):
        self.kind = kind
        super().__init__(message)


class ExpertProcess:
    """An expert's process. Only one thread at a time may use it."""

    def __init__(self, loading: Loading):
        self.loading = loading
        self.memory = loading.memory
        self.served = 0  #: number of samples since its start
        self._child: ChildProcess | None = None

    @property
    def pid(self) -> int | None:
        """The id of the running process; None if there is none."""
        return self._child and self._child.pid

    def ask(self, sample: list[bytes]) -> bytes | Problem:
        """Return the answer for a sample, which has a value for each slot; start the process first if necessary.

        Raises ProcessStopped, ActionError of kind `expert` if the model cannot be loaded, and InfrastructureError if
        the process cannot be started.
        """
        child = self._start_if_needed()
        self.served += 1
        deadline = time.monotonic() + self.loading.seconds
        try:
            write_frame(child.stdin, pack(sample), deadline)
            return _read_answer(read_frame(child.stdout, deadline))
        except DeadlinePassed:
            self.end()
            raise ProcessStopped(TIMEOUT, f"no answer within {format_limit(self.loading.seconds)}") from None
        except PipeClosed:
            raise ProcessStopped(DIED, f"the expert's process ended with status {self._status()}") from None
        except (BadFrame, UnicodeDecodeError, ValueError) as error:
            self.end()
            raise ProcessStopped(BAD_OUTPUT, f"the expert's process did not keep to the protocol: {error}") from None

    def end(self) -> int | None:
        """Kill the process and return its exit status; None if there is no process."""
        child, self._child, self.served = self._child, None, 0
        return None if child is None else child.end()

    def _status(self) -> int | None:
        if self._child is not None:
            self._child.wait(5)
        return self.end()

    def _start_if_needed(self) -> ChildProcess:
        if self._child is not None:
            return self._child
        try:
            child = ChildProcess("lumos_queue.experts.child", DATA, self.memory, _VARIABLES)
        except OSError as error:
            raise InfrastructureError(f"cannot start an expert's process: {error}") from error
        self._child = child
        setup = {
            "model": self.loading.model,
            "options": dict(self.loading.options),
            "parent": os.getpid(),
        }
        deadline = time.monotonic() + self.loading.start_seconds
        try:
            write_frame(child.stdin, json.dumps(setup).encode(), deadline)
            answer = read_frame(child.stdout, deadline)
        except PipeClosed:
            raise ActionError("expert", f"the expert cannot be loaded: it ended, status {self._status()}") from None
        except (DeadlinePassed, BadFrame) as error:
            self.end()
            problem = "late" if isinstance(error, DeadlinePassed) else "garbage"
            raise ActionError("expert", f"the expert cannot be loaded: {problem}") from None
        if answer != READY:
            self.end()
            raise ActionError("expert", f"the expert cannot be loaded: {_describe_refusal(answer)}")
        return child


def _read_answer(answer: bytes) -> bytes | Problem:
    """Return the value or the problem that a frame contains. Raises BadFrame for other frames."""
    if answer[:1] == VALUE:
        return answer[1:]
    if answer[:1] == PROBLEM:
        kind, message = unpack(answer[1:])
        return Problem(kind.decode("ascii")[:20], message.decode()[:200])
    raise BadFrame("an answer of no known kind")


def _describe_refusal(answer: bytes) -> str:
    try:
        problem = _read_answer(answer)
    except (BadFrame, ValueError):
        return "it did not keep to the protocol"
    return problem.message if isinstance(problem, Problem) else "it answered before it was asked"
