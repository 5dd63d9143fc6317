"""Evaluation: inference with scores. Scores are stored apart from episodes, and can be computed from these again."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from db.kinds.job_kinds import JobKind
from db.kinds.pools import Pool
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.checks import score_episode
from lumos_queue.benchmarks.from_file.rubrics import prompt_head
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.episode import Journal
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.jobs.infer import Infer, InferContext
from lumos_queue.jobs.judge_votes import single_vote, with_judge
from lumos_queue.records import Completion, Role


@dataclass(frozen=True, slots=True)
class Evaluate:
    """A job that runs an inference, and scores every answer by the benchmark's metrics."""

    infer: Infer

    kind = JobKind.EVALUATE
    pool = Pool.LLM
    ordered = False
    concurrency = 0

    def as_json(self) -> dict[str, Any]:
        return {"infer": self.infer.as_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Evaluate:
        return cls(Infer.from_json(value["infer"]))

    def prompt_prefixes(self) -> dict[str, str]:
        heads = self.infer.prompt_prefixes()
        judge = self.infer.definition.judge if self.infer.definition else None
        return {**heads, Role.JUDGE: prompt_head(judge)} if judge else heads

    def open(self, deployment: Deployment) -> AbstractAsyncContextManager[InferContext]:
        return self.infer.open(deployment)

    async def run(self, work: Work, journal: Journal, context: InferContext) -> ItemResult:
        task, agent, formulation = work.task, self.infer.agent, self.infer.generator()
        assert task is not None
        benchmark = self.infer.open_benchmark()
        votes: list[Completion] = []
        if Role.JUDGE in agent.roles:
            formulation = with_judge(formulation, benchmark, task, votes)
        run = await self.infer.run_formulation(formulation, work, journal, context)

        def load(digest: str) -> bytes:
            if (content := journal.find_kept(digest)) is not None:
                return content
            assert context.images is not None
            return context.images.read(digest).data

        vote = single_vote(agent, votes)
        episode = EpisodeResult.of(run.outcome, agent, run.actions, vote, load, run.approved, votes)
        # A thread for every episode would cost more than most scores do.
        scoring = asyncio.to_thread(score_episode, benchmark, task, episode) if benchmark.slow else None
        return ItemResult(run.outcome, tuple(await scoring if scoring else score_episode(benchmark, task, episode)))
