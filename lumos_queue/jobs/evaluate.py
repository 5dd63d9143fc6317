"""Evaluation: inference with a score. The scores are rows of their own and can be made again from what is stored."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.episode import Journal
from lumos_queue.jobs.base import Result, Work
from lumos_queue.jobs.infer import Context, Infer


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Infer, then judge every answer with the benchmark's metrics."""

    infer: Infer

    kind = "evaluate"
    pool = "llm"
    ordered = False
    concurrency = 0

    def as_json(self) -> dict[str, Any]:
        return {"infer": self.infer.as_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Evaluate:
        return cls(Infer.from_json(value["infer"]))

    def heads(self) -> dict[str, str]:
        return self.infer.heads()

    def open(self, settings: Any) -> AbstractAsyncContextManager[Context]:
        return self.infer.open(settings)

    async def run(self, work: Work, journal: Journal, context: Context) -> Result:
        result = await self.infer.run(work, journal, context)
        assert result.outcome is not None and work.task is not None
        # Only an episode that ended by itself has an answer to judge; any other ending is wrong, and has its own name.
        answer = result.outcome.answer if result.outcome.ending == "answered" else None
        return replace(result, scores=tuple(open_benchmark(self.infer.benchmark).score(work.task, answer)))
