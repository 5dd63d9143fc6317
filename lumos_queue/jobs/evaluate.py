"""Evaluation: inference with a score. The scores are rows of their own and can be made again from what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import Ask, Command, Do
from lumos_queue.endpoints.roles import JUDGE
from lumos_queue.episode import Formulation, Journal
from lumos_queue.jobs.base import Result, Work
from lumos_queue.jobs.infer import Context, Infer
from lumos_queue.notation import without_roles
from lumos_queue.records import REFUSED, Action, Execution, Outcome, Task
from lumos_queue.scoring.limit import judged_answer


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
        assert work.task is not None
        benchmark = open_benchmark(self.infer.benchmark)
        seen: list[tuple[Action, Execution]] = []
        votes: list[str | None] = []
        judge = benchmark if JUDGE in self.infer.agent.roles else None
        if judge or not benchmark.by_answer:  # else nobody looks at what was seen
            result = await self.infer.run(work, journal, context, watched(work.task, judge, seen, votes))
        else:
            result = await self.infer.run(work, journal, context)
        assert result.outcome is not None
        outcome = result.outcome
        answer = judged_answer(outcome.ending, outcome.answer, self.infer.agent.at_limit)
        vote = votes[-1] if votes else "" if judge else None
        tried = EpisodeResult(answer, outcome.ending, tuple(seen), vote, self.infer.agent.tools)
        # A thread for every episode would cost more than most scores do.
        judged = asyncio.to_thread(benchmark.score, work.task, tried) if benchmark.slow else None
        return replace(result, scores=tuple(await judged if judged else benchmark.score(work.task, tried)))


def watched(
    task: Task, judge: Benchmark | None, seen: list[tuple[Action, Execution]], votes: list[str | None]
) -> Callable[[Formulation], Formulation]:
    """A formulation whose actions are noted in `seen`; at its end the judge, if there is one, is asked for a vote.

    The vote is a step of the episode like any other: stored, and never asked for twice. A judge that refuses leaves the
    episode as it is, without a vote.
    """

    def around(formulation: Formulation) -> Formulation:
        def generate(visible: Any, agent: Any) -> Generator[Command | list[Command], Any, Outcome]:
            generator, reply = formulation(visible, agent), None
            try:
                while True:
                    wanted = generator.send(reply)
                    reply = yield wanted
                    if isinstance(wanted, Do):
                        seen.append((wanted.action, reply))
                    elif isinstance(wanted, list):
                        done = zip(wanted, reply, strict=True)
                        seen.extend((one.action, result) for one, result in done if isinstance(one, Do))
            except StopIteration as stop:
                outcome = stop.value
            finally:
                generator.close()
            answer = judged_answer(outcome.ending, outcome.answer, agent.at_limit)
            if judge and answer is not None and (prompt := judge.judge_prompt(task, answer)):
                vote = yield Ask(JUDGE, without_roles(prompt))
                votes.append(None if vote.finish_reason == REFUSED else vote.text)
            return outcome

        return generate

    return around
