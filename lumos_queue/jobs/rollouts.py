"""The rollouts of an optimizer step: an ordinary evaluation of the newest checkpoint on a batch of tasks.

The optimizer step submits this evaluation as a job. If the step is retried, it finds the job again by its digest, so
that no recorded model call is repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from db.engine.connection import Database
from db.journal.artifacts import copy_names
from db.kinds.states import OPEN, JobState
from db.queries.filters import parse_where
from db.queries.jobs import find_job, get_job_of_item
from db.queries.trajectories import StoredEpisode, stream_episodes
from db.queue.datasets import NewDataset, load_tasks
from db.queue.new_jobs import create_job
from db.queue.stored_jobs import StoredJob
from lumos_queue.commands import digest
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.model_folder import identity
from lumos_queue.errors import NeedsAttention, WaitsForJob
from lumos_queue.execution.stored_asks import replay_asks
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.new_job import make_new_job
from lumos_queue.jobs.rewards import read_reward
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.records import Completion, Ending, FinishReason
from lumos_queue.training.engine.checkpoints import checkpoint_of
from lumos_queue.training.recipes.base import Window
from lumos_queue.training.recipes.rltf import Rltf


class Rollouts:
    """Requests and reads the rollouts that the steps of a training job need."""

    def __init__(self, deployment: Deployment):
        self._deployment = deployment

    async def gather(self, recipe: Rltf, window: Window, item: int) -> dict[str, Any]:
        """Return the rollouts of a window as JSON (training/rltf/rollouts.py). `item`: the id of the window's item.

        Raises WaitsForJob until the rollouts are complete, and NeedsAttention if some of them are missing.
        """
        return await asyncio.to_thread(self._gather, recipe, window, item)

    def _gather(self, recipe: Rltf, window: Window, item: int) -> dict[str, Any]:
        database = self._deployment.database
        with database.engine.connect() as connection:
            training_job = get_job_of_item(connection, item)
        evaluate = self._evaluation(database, recipe, window)
        job = self._request(database, recipe, evaluate, window["rows"], training_job)
        with database.engine.connect() as connection:
            row = find_job(connection, job)
        if row is None or row.state in OPEN:
            raise WaitsForJob(f"the rollouts of step {window['step']}: job {job}", job)
        if row.state != JobState.DONE:
            raise NeedsAttention(
                f"The rollouts of step {window['step']} are {row.state}: go on with lumos resume {job}, then with "
                f"lumos resume {training_job.id}"
            )
        return {"job": job, "episodes": _read(database, recipe, evaluate, row, training_job.id)}

    def _evaluation(self, database: Database, recipe: Rltf, window: Window) -> Evaluate:
        """Return the evaluation of the checkpoint that the step starts from. Its digest identifies the rollouts.

        Raises SpecError if the checkpoint is missing, damaged or of another fit.
        """
        step, folder = window["step"], checkpoint_of(recipe.checkpoints(), window["step"] - 1)
        recipe.check_seal(folder)
        infer = Evaluate.from_json({"infer": recipe.evaluation}).infer
        agent = infer.agent
        policy_roles = dict.fromkeys(recipe.roles, f"local:{folder}")
        samplings = dict(agent.samplings)
        for role in recipe.roles:
            sampling: Sampling = samplings.get(role, agent.sampling)
            samplings[role] = replace(sampling, epsilon=recipe.spec.epsilon_at(step))
        weights = dict.fromkeys(recipe.roles, identity(folder)["sha256"])
        agent = replace(
            agent, roles={**agent.roles, **policy_roles}, samplings=samplings, weights={**agent.weights, **weights}
        )
        dataset = digest("rollouts", infer.dataset, *map(str, window["rows"]))
        seed = recipe.spec.seed * 1_000_003 + step
        return Evaluate(replace(infer, agent=agent, dataset=dataset, samples=recipe.spec.samples, limit=0, seed=seed))

    def _request(
        self, database: Database, recipe: Rltf, evaluate: Evaluate, rows: Sequence[int], training_job: StoredJob
    ) -> str:
        """Store the evaluation as a job if it is new. Return the job's id."""
        infer = evaluate.infer
        benchmark = infer.open_benchmark()
        with database.engine.connect() as connection:
            tasks = load_tasks(connection, infer.benchmark, recipe.evaluation["dataset"], rows)
        dataset = NewDataset(
            infer.dataset,
            infer.benchmark,
            infer.split,
            benchmark.licence,
            [replace(task, dataset=infer.dataset) for task in tasks],
        )
        with database.writer.begin() as connection:
            copy_names(connection, recipe.evaluation["dataset"], infer.dataset)
        new = make_new_job(
            evaluate,
            self._deployment.settings,
            split=infer.split,
            licence=benchmark.licence,
            scheduling=Scheduling(training_job.priority, training_job.concurrency),
            digest_code_version=training_job.code_version,
        )
        new = replace(
            new, project=training_job.project, submitted_by=training_job.submitted_by
        )  # instead of the worker's
        return create_job(database, new, dataset, samples=infer.samples)[0]


def _read(
    database: Database, recipe: Rltf, evaluate: Evaluate, row: StoredJob, training_job: str
) -> list[dict[str, Any]]:
    """Return the rollouts as JSON, in the order of their items. Raises NeedsAttention if a reward is missing."""
    rollouts: list[tuple[int, dict[str, Any]]] = []
    unjudged_names: list[str] = []
    failed_names: list[str] = []
    benchmark = evaluate.infer.open_benchmark()
    for episode in stream_episodes(database, parse_where(f"job={row.id}")):
        if episode.ending == Ending.INFRA_ERROR:  # its score is that of a wrong answer, but the plan is not at fault
            failed_names.append(episode.name)
            continue
        feasible = episode.scores["feasible"] > 0 if "feasible" in episode.scores else None
        reward = read_reward(benchmark, recipe.reward, episode.task, episode.scores)
        if feasible is False:
            reward = recipe.spec.infeasible
        if reward is None:
            unjudged_names.append(episode.name)
            continue
        asks = _asks(evaluate, episode, recipe.roles)
        rollouts.append((episode.ordinal, {"asks": asks, "reward": reward, "feasible": feasible}))
    if gap := row.items - len(rollouts):
        first = f"{failed_names[0]} ended with infra_error" if failed_names else "some of its items have not ended"
        remedy = f"make them with lumos resume {row.id}"
        if gap == len(unjudged_names):
            first = f"nothing judged {unjudged_names[0]} by it"
            remedy = f"see that it can be judged so, and remove these rollouts with lumos rm {row.id}"
        raise NeedsAttention(
            f"{gap} of {row.items} rewards '{recipe.reward}' of job {row.id} are missing ({first}): {remedy}, "
            f"then go on with lumos resume {training_job}"
        )
    return [rollout for _, rollout in sorted(rollouts, key=lambda pair: pair[0])]


def _asks(evaluate: Evaluate, episode: StoredEpisode, roles: Sequence[str]) -> list[dict[str, Any]]:
    """Return the model calls of the trained roles in an episode as JSON."""
    infer = evaluate.infer
    results = {(step.position, step.branch): step.result for step in episode.steps}
    calls: list[dict[str, Any]] = []
    for ask, completion in replay_asks(infer.generator(), episode.task, infer.agent, results):
        if ask.role in roles and completion.text and completion.finish_reason != FinishReason.GIVEN:
            calls.append(
                {
                    "prompt": ask.prompt,
                    "reply": completion.text,
                    "ended": completion.finish_reason != FinishReason.LENGTH,
                    "constraint": ask.constraint and ask.constraint.as_json(),
                    "logprob": _logprob(completion),
                }
            )
    return calls


def _logprob(completion: Completion) -> float | None:
    return next((candidate.logprob for candidate in completion.candidates if candidate.text == completion.text), None)
