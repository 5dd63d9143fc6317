"""Evaluation: inference with a score. The scores are rows of their own and can be made again from what is stored."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.checks import score_episode
from lumos_queue.commands import Ask, Commands
from lumos_queue.endpoints.roles import JUDGE
from lumos_queue.episode import Generate, Journal
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.jobs.infer import Infer, InferContext
from lumos_queue.notation import without_roles
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import FinishReason, Outcome, Task
from lumos_queue.scoring.limit import judged_answer
from lumos_queue.settings import Settings


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

    def prompt_prefixes(self) -> dict[str, str]:
        return self.infer.prompt_prefixes()

    def open(self, settings: Settings) -> AbstractAsyncContextManager[InferContext]:
        return self.infer.open(settings)

    async def run(self, work: Work, journal: Journal, context: InferContext) -> ItemResult:
        task, agent, formulation = work.task, self.infer.agent, self.infer.generator()
        assert task is not None
        benchmark = self.infer.open_benchmark()
        votes: list[str | None] = ["" if JUDGE in agent.roles else None]  # of an episode without an answer
        if JUDGE in agent.roles:
            formulation = with_judge(formulation, benchmark, task, votes)
        run = await self.infer.run_formulation(formulation, work, journal, context)

        def load(digest: str) -> bytes:
            if (kept := journal.find_kept(digest)) is not None:
                return kept
            assert context.images is not None
            return context.images.read(digest).data

        tried = EpisodeResult.of(run.outcome, agent, run.actions, votes[-1], load, run.approved)
        # A thread for every episode would cost more than most scores do.
        judged = asyncio.to_thread(score_episode, benchmark, task, tried) if benchmark.slow else None
        return ItemResult(run.outcome, tuple(await judged if judged else score_episode(benchmark, task, tried)))


def with_judge(
    formulation: Generate[Agent], benchmark: Benchmark, task: Task, votes: list[str | None]
) -> Generate[Agent]:
    """The formulation, and at its end a question to the judge, whose vote is added to `votes`; None: there is none.

    The vote is a step of the episode like any other: stored, and never asked for twice.
    """

    def generate(visible: Task, agent: Agent) -> Commands[Outcome]:
        outcome = yield from formulation(visible, agent)
        answer = judged_answer(outcome.ending, outcome.answer, agent.at_limit)
        if answer is not None and (prompt := benchmark.judge_prompt(task, answer)):
            vote = yield from Ask(JUDGE, without_roles(prompt))
            votes.append(None if vote.finish_reason == FinishReason.REFUSED or vote.is_only_reasoning else vote.text)
        return outcome

    return generate
