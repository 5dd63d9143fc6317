"""Run experts, each in its own process, which starts at the first call and ends when other experts need its memory.

A request is one sample. A sample gets a Problem if its process dies, hangs, takes too much memory or returns a wrong
answer. The process is started again, and the other samples continue. If the process had served other samples, they may
have caused its end, so the sample is tried once more in a new process, except after a timeout.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from lumos_queue.errors import ActionError, SpecError
from lumos_queue.experts.backends.base import MIB, BackendFacts
from lumos_queue.experts.check import check_value
from lumos_queue.experts.memory import MemoryBudget
from lumos_queue.experts.problems import MEMORY, TIMEOUT, Problem
from lumos_queue.experts.worker import ExpertProcess, ProcessStopped

MEMORY_VARIABLE = "LUMOS_EXPERT_MEMORY"  #: bytes for all experts of one worker process together
DEFAULT_MEMORY = 4096 * MIB
Result = bytes | Problem


class ExpertHost:
    """Runs all experts for one process. All event loops and threads of the process may use it.

    `close` ends the processes of experts; the next call starts new processes.
    """

    def __init__(self, memory: int = DEFAULT_MEMORY):
        self.memory = memory  #: bytes that all processes together may write to
        self._owner = 0  #: the id of the process that started them
        self._lock = threading.Lock()
        self._budget = MemoryBudget(memory)
        self._lines: dict[str, _Line] = {}

    async def run(self, facts: BackendFacts, inputs: Sequence[Sequence[bytes]]) -> list[Result]:
        """Return a result for each sample. `inputs` has a list of samples for each slot of the expert.

        If the caller is cancelled, this returns at once; the current sample is still finished.
        Raises ActionError of kind `expert` if the expert cannot be loaded.
        """
        samples = [list(sample) for sample in zip(*inputs, strict=True)]
        cancellation = threading.Event()
        future = self._line_of(facts).submit(samples, cancellation)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            cancellation.set()
            raise

    async def close(self) -> None:
        """End the processes of all experts, and wait until they have exited."""
        with self._lock:
            lines, self._lines = self._lines, {}
        if self._owner == os.getpid():
            await asyncio.gather(*(asyncio.to_thread(line.close) for line in lines.values()))

    def _line_of(self, facts: BackendFacts) -> _Line:
        """Return the expert's queue of calls. After a fork, the child makes new queues and processes."""
        assert facts.loading is not None, "oracles run where their inputs are known"
        if facts.loading.memory > self.memory:
            raise ActionError(
                "expert",
                f"{facts.expert} needs {facts.loading.memory // MIB} MiB and {MEMORY_VARIABLE} allows "
                f"{self.memory // MIB} MiB for all experts: raise it.",
            )
        with self._lock:
            if self._owner != os.getpid():
                self._owner, self._lines, self._budget = os.getpid(), {}, MemoryBudget(self.memory)
            key = f"{facts.expert}\n{facts.digest}"
            if key not in self._lines:
                self._lines[key] = _Line(facts, self._budget)
            return self._lines[key]


class _Line:
    """The queue of an expert's calls, which run one after the other in its own thread."""

    def __init__(self, facts: BackendFacts, budget: MemoryBudget):
        assert facts.loading is not None
        self.facts, self.budget = facts, budget
        self.process = ExpertProcess(facts.loading)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"expert {facts.expert}")

    def submit(self, samples: list[list[bytes]], cancellation: threading.Event) -> Future[list[Result]]:
        return self._thread.submit(self._run, samples, cancellation)

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)
        self.process.end()
        self.budget.forget(self.process)

    def _run(self, samples: list[list[bytes]], cancellation: threading.Event) -> list[Result]:
        if cancellation.is_set():
            return []
        self.budget.acquire(self.process)
        try:
            return [self._try_sample(sample) for sample in samples if not cancellation.is_set()]
        finally:
            self.budget.release(self.process)

    def _try_sample(self, sample: list[bytes]) -> Result:
        is_reused = self.process.served > 0
        result = self._ask(sample)
        if is_reused and isinstance(result, Problem) and result.kind != TIMEOUT and self.process.served == 0:
            return self._ask(sample)
        return result

    def _ask(self, sample: list[bytes]) -> Result:
        try:
            result = self.process.ask(sample)
        except ProcessStopped as stop:
            return Problem(stop.kind, str(stop))
        if isinstance(result, Problem):
            if result.kind == MEMORY:
                self.process.end()
            return result
        return check_value(self.facts.output, result)


@cache
def experts_of_this_process() -> ExpertHost:
    """Return the host that all callers in this process share, so that the memory limit holds for all of them.

    Raises SpecError if LUMOS_EXPERT_MEMORY is not a number of bytes.
    """
    text = os.environ.get(MEMORY_VARIABLE, str(DEFAULT_MEMORY))
    if not text.isdecimal() or int(text) < 64 * MIB:
        raise SpecError(f"{MEMORY_VARIABLE}='{text}': expected a number of bytes, at least {64 * MIB}.")
    return ExpertHost(int(text))
