"""Conversion: a row's gold rationale becomes an annotated episode, or a named reason why not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from lumos_queue.actions.base import ActionInterface
from lumos_queue.actions.registry import open_interface
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.endpoints.base import Sampling
from lumos_queue.episode import Journal, run_episode
from lumos_queue.errors import SpecError
from lumos_queue.formulations.annotation import annotation
from lumos_queue.jobs.base import Result, Work
from lumos_queue.perform import Performer
from lumos_queue.records import Outcome, Score


@dataclass(frozen=True, slots=True)
class Convert:
    """Turn every row into LUMOS form by rule, and run the actions to see that they give what the row states."""

    benchmark: str
    dataset: str
    split: str
    limit: int = 0

    kind = "convert"
    pool = "cpu"
    ordered = False
    concurrency = 0

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Convert:
        return cls(**value)

    def heads(self) -> dict[str, str]:
        return {}

    @asynccontextmanager
    async def open(self, settings: Any) -> AsyncIterator[ActionInterface]:
        actions = open_interface(open_benchmark(self.benchmark).domain)
        try:
            yield actions
        finally:
            await actions.close()

    async def run(self, work: Work, journal: Journal, context: ActionInterface) -> Result:
        """Scores `executed`: 1 when every action gives its stated result and the last one the gold answer."""
        assert work.task is not None
        benchmark = open_benchmark(self.benchmark)
        try:
            gold = benchmark.gold(work.task)
        except SpecError as reason:
            return Result(Outcome(None, "unreadable", str(reason)), (Score("executed", 0.0, detail=str(reason)),))
        perform = Performer({}, context, Sampling(), 0).of_episode(work.task, work.sample)
        outcome = await run_episode(partial(_act_out, gold), work.task, None, journal, perform)
        right = outcome.ending == "answered" and benchmark.score(work.task, outcome.answer)[0].value == 1.0
        detail = "" if right else outcome.message or f"gives {outcome.answer}, gold is {gold.answer}"
        return Result(outcome, (Score("executed", float(right), detail=detail),))


def _act_out(gold, task, _agent):
    return annotation(task, gold)
