"""Run code in helper processes that can be killed. A request and a reply are a JSON line each, sent through pipes.

If a request takes too much processor time, the kernel ends the child. Memory is limited by the address space, and a
reply by its size. If a child dies at any time, a new child is started. If the parent dies, the child reads the end of
its input; the kernel also ends the child when the thread that started it ends. The child has its own session, `/` as
its folder, no open files but its pipes, and no variables but a fixed hash seed and those of its Sandbox.

The child runs as the same user and has access to the same files and network. The sandbox is for this project's code on
hostile data; third-party code needs stronger isolation.

The limit of a request is the child's processor time, so that a busy machine gives the same results as an idle machine.
A much longer limit by the wall clock raises InfrastructureError if the child does not answer at all.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import queue
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.util.child_process import ADDRESS_SPACE, ChildProcess

MEMORY = 1 << 30  #: bytes of address space
MAX_REQUEST = 60_000  #: bytes; less than the size of a pipe, so that writing a request never waits for the child
MAX_REPLY = 1 << 20  #: bytes
WALL_START, WALL_PER_SECOND = 120.0, 20.0  #: seconds by the wall clock: to start, and for a processor second
MAX_SERVED = 500  #: requests after which a child is replaced, so that its caches do not fill its memory

_OVERTIME = (signal.SIGPROF, signal.SIGXCPU)


class Sandbox:
    """Helper processes that run `module.main()`. The first `call` starts them; any event loop or thread may call.

    The module's `main` must call `serve`. After `close`, the next `call` starts new processes.
    """

    def __init__(
        self, module: str, children: int = 1, memory: int = MEMORY, variables: Mapping[str, str] | None = None
    ):
        """Set the number of `children`, the limit of their address space (`memory`, in bytes) and their `variables`."""
        self.module, self.children, self.memory = module, children, memory
        self.variables = dict(variables or {})
        self._owner = 0  #: the id of the process that started the children
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None
        self._idle: queue.SimpleQueue[_Child] = queue.SimpleQueue()
        self._started: list[_Child] = []

    async def call(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Return the child's reply to a request that may take `seconds` of processor time.

        If the caller is cancelled, it returns at once, and the child works until its time is over or the sandbox is
        closed.
        Raises ActionError of kind timeout, memory, too_large or crashed, and InfrastructureError if the child cannot be
        started, or does not answer within the limit by the wall clock.
        """
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        if len(line) > MAX_REQUEST:
            raise ActionError("too_large", f"a request may have {MAX_REQUEST} bytes, this has {len(line)}")
        return await asyncio.wrap_future(self._pool().submit(self._serve, line, seconds))

    async def close(self) -> None:
        """End the helper processes, also at work for cancelled callers, and wait for their end."""
        if self._threads is not None and self._owner == os.getpid():
            threads, self._threads = self._threads, None
            for child in self._started:
                child.abandon()
            await asyncio.to_thread(threads.shutdown)
            while not self._idle.empty():
                self._idle.get().end()

    def _pool(self) -> ThreadPoolExecutor:
        """Return the pool, with a thread for each child. A fork of this process makes a new pool and new children."""
        with self._lock:
            if self._threads is None or self._owner != os.getpid():
                self._owner = os.getpid()
                self._threads = ThreadPoolExecutor(self.children, thread_name_prefix="sandbox")
                self._idle = queue.SimpleQueue()
                self._started = [_Child(self.module, self.memory, self.variables) for _ in range(self.children)]
                for child in self._started:
                    self._idle.put(child)
            return self._threads

    def _serve(self, line: bytes, seconds: float) -> dict[str, Any]:
        """Answer a request in a pool thread. If earlier requests may have caused a failure, retry in a new child."""
        child = self._idle.get()
        try:
            if child.served >= MAX_SERVED:
                child.end()
            is_used = child.served > 0
            try:
                return child.ask(line, seconds)
            except _Ended as death:
                if death.kind == "timeout" or (death.kind == "memory" and not is_used) or child.is_abandoned:
                    raise ActionError(death.kind, str(death)) from None
            try:
                return child.ask(line, seconds)
            except _Ended as death:
                raise ActionError(death.kind, str(death)) from None
        finally:
            self._idle.put(child)


class _Ended(Exception):
    """Raised if the child has ended without an answer. `kind` is timeout, memory or crashed."""

    def __init__(self, kind: str, message: str):
        self.kind = kind
        super().__init__(message)


class _Child:
    """A helper process, used by one thread at a time."""

    def __init__(self, module: str, memory: int, variables: Mapping[str, str]):
        self.module, self.memory, self.variables = module, memory, variables
        self._process: Any = None  #: a ChildProcess while it runs
        self.served = 0  #: requests since it was started
        self.is_abandoned = False
        self._lock = threading.Lock()  # so that no process starts after `abandon`

    def ask(self, line: bytes, seconds: float) -> dict[str, Any]:
        """Return the reply to a request. Raises _Ended, ActionError of kind too_large, or InfrastructureError."""
        self._start_if_needed()
        self.served += 1
        try:
            os.write(self._process.stdin, b"%.3f " % seconds + line)
        except BrokenPipeError:
            raise self._why_ended(seconds) from None
        reply = json.loads(self._read_line(WALL_START + WALL_PER_SECOND * seconds, seconds))
        if reply.get("error") == "memory":
            self.end()
            raise _Ended("memory", "the action needs too much memory")
        return reply

    def abandon(self) -> None:
        """Kill the process, also while it works for another thread, and start no other."""
        with self._lock:
            self.is_abandoned = True
            if self._process is not None:
                self._process.kill()

    def end(self) -> int | None:
        """Kill the process and collect its exit status."""
        process, self._process, self.served = self._process, None, 0
        return None if process is None else process.end()

    def _start_if_needed(self) -> None:
        if self._process is not None:
            return
        with self._lock:
            if self.is_abandoned:
                raise InfrastructureError("the helper processes were closed")
            try:
                self._process = ChildProcess(self.module, ADDRESS_SPACE, self.memory, self.variables)
            except OSError as error:
                raise InfrastructureError(f"cannot start the helper process: {error}") from error
        try:
            self._read_line(WALL_START, 0)
        except _Ended as death:
            raise InfrastructureError(f"the helper process ended while it started: {death}") from None

    def _read_line(self, wall: float, seconds: float) -> bytes:
        """Return a line of the child. `wall` is the limit in seconds by the wall clock."""
        pipe = self._process.stdout
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        deadline = time.monotonic() + wall
        line = bytearray()
        while not line.endswith(b"\n"):
            if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                self.end()
                raise InfrastructureError(f"the helper process did not answer within {wall:.0f} s")
            piece = os.read(pipe, 1 << 16)
            if not piece:
                raise self._why_ended(seconds)
            line += piece
            if len(line) > MAX_REPLY:
                self.end()
                raise ActionError("too_large", f"a reply may have {MAX_REPLY} bytes")
        return bytes(line)

    def _why_ended(self, seconds: float) -> _Ended:
        self._process.wait(5)
        code = self.end()
        if code is not None and -code in _OVERTIME:
            return _Ended("timeout", f"the action needs more than {seconds:g} s of processor time")
        return _Ended("crashed", f"the helper process ended with status {code}")


# --- in the child -----------------------------------------------------------------------------------------------------


def serve(handle: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer requests with `handle` until the input ends. The output of `handle` is discarded."""
    replies = os.dup(1)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    os.write(replies, b"ready\n")
    for line in sys.stdin.buffer:
        seconds, _, request = line.partition(b" ")
        data = _reply(handle, json.loads(request), float(seconds))
        while data:
            data = data[os.write(replies, data) :]


def _reply(handle: Callable[[dict[str, Any]], dict[str, Any]], request: dict[str, Any], seconds: float) -> bytes:
    """Return the reply line. If the processor time is used up, the kernel ends this process by SIGPROF or SIGXCPU."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    limit = math.ceil(usage.ru_utime + usage.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        data = json.dumps(handle(request), separators=(",", ":")).encode() + b"\n"
        return data if len(data) <= MAX_REPLY else b'{"error":"too_large","message":"the reply is too long"}\n'
    except MemoryError:
        return b'{"error":"memory"}\n'
    except RecursionError:
        return b'{"error":"too_large","message":"the request is nested too deeply"}\n'
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
