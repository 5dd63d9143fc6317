"""Kill the process of a hundred tool agents' episodes at random instants."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from experiments.tool_agents.contest import NAMES
from experiments.tool_agents.faults import RECOVERS, Setting, Tools
from experiments.tool_agents.models import Models
from experiments.tool_agents.questions import Question, make_questions
from experiments.tool_agents.world import RELATIONS, World
from lumos_queue.actions.tools.interface import ToolActions
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows, submit
from tests.fake_endpoint import FakeEndpoint
from tests.integration.rollout_jobs import rows_of
from tests.kills.killed_child import (
    DONE,
    KILLED,
    end_sessions,
    make_settings,
    resume_job,
    run_in_child,
    wait,
    wait_for_progress,
)
from tests.kills.stored_episodes import count_prompts, load_episodes
from tests.stored_rows import state

IN_FLIGHT = 6
LATENCY = 0.2  #: seconds of each reply


def import_all(settings: Settings, url: str) -> None:
    """Import the modules of a child beforehand, so that kills hit its work and not its imports."""

    async def look() -> None:
        endpoint = open_endpoint(url, settings)
        await endpoint.identity()
        await endpoint.close()

    ToolActions()
    asyncio.run(look())


def make_models() -> Models:
    return Models(0, 0.1)


def make_rows(name: str, world: World, questions: Sequence[Question]) -> Rows:
    """Return the questions as rows of ToolBench, with recorded answers of their faulty tools."""
    return rows_of(open_benchmark("toolbench"), [_make_task(world, question) for question in questions], "I1-inst")


def _make_task(world: World, question: Question) -> Task:
    plain, tools = question.task(), Tools(world, question, Setting(share=0.75), 0)
    answers = []
    for provider, name in question.apis:
        relation = RELATIONS[name]
        for thing in world.things[relation.of]:
            attempts = [tools.answer(provider, name, {relation.of: thing}, nth) for nth in range(RECOVERS + 1)]
            names = {"category": relation.category, "tool": provider, "api": name, "arguments": {relation.of: thing}}
            recorded_attempts = attempts if attempts[0] != attempts[-1] else attempts[:1]
            answers += [
                {**names, "error": attempt.error, "response": attempt.response, "code": attempt.code}
                for attempt in recorded_attempts
            ]
    relevant = [[provider, name] for provider, name in question.apis]
    return replace(
        plain, benchmark="toolbench", inputs={**plain.inputs, "answers": answers}, gold={"relevant": relevant}
    )


def submit_all(home: Path, url: str, many: int) -> list[str]:
    """Submit a job of each formulation with a quarter of the episodes; return the ids."""
    settings, world, jobs = make_settings(home, concurrency=IN_FLIGHT), World(0), []
    questions = make_questions(world, 0, many)
    database = open_database(settings.database)
    upgrade(database)
    for index, name in enumerate(NAMES):
        formulation = FORMULATIONS.load(name)
        rows = make_rows(name, world, questions[index :: len(NAMES)])
        agent = Agent(
            dict.fromkeys(formulation.roles, url), "tools", limits=formulation.limits, samplings=formulation.samplings
        )
        jobs.append(
            submit(database, settings, Evaluate(Infer("toolbench", rows.digest, "I1-inst", name, agent)), rows)[0]
        )
    database.close()
    return jobs


def work(settings: Settings, jobs: Sequence[str]) -> None:
    for job in jobs:
        resume_job(settings, job)


@dataclass(frozen=True, slots=True)
class Account:
    """The results of the kills."""

    kills: int  #: that hit a process at work
    asked: int  #: requests that reached the server
    stored: int  #: replies that are stored in the end
    repeated: int  #: requests for a reply that was stored already
    different: int  #: episodes that differ from those of the run that nothing killed
    episodes: int
    worked: int  #: kills between which something new was stored


def kill_often(folder: Path, many: int, kills: int, seed: int, longest: float = 1.0) -> Account:
    """Run `many` episodes twice, once with so many kills at random instants, and compare.

    Raises AssertionError if the work is done before the last kill.
    """
    draw = random.Random(f"kills {seed}")
    with FakeEndpoint(make_models().reply) as server:
        import_all(make_settings(folder), server.tgi)
        reference = _load_undisturbed(folder / "whole", server, many)
        server.latency = LATENCY
        server.calls.clear()
        settings = make_settings(folder / "killed", concurrency=IN_FLIGHT)
        jobs = submit_all(settings.home, server.tgi, many)
        database = open_database(settings.database)
        snapshots: list[tuple[Counter[str], Counter[str]]] = []
        for number in range(kills):
            rotated_jobs = jobs[number % len(jobs) :] + jobs[: number % len(jobs)]  # so that each formulation is hit
            pid = run_in_child(partial(work, settings, [job for job in rotated_jobs if state(database, job) != "done"]))
            if number % 2:  # every other kill comes when something new is stored, however slow the machine is
                stored_count = snapshots[-1][0].total()
                wait_for_progress(
                    lambda stored_count=stored_count: count_prompts(database, jobs).total() > stored_count
                )
            time.sleep(draw.uniform(0.0, longest))
            os.killpg(pid, signal.SIGKILL)
            assert wait(pid) == KILLED, f"all was done after {number} of {kills} kills"
            time.sleep(0.02)  # the last requests of the dead process arrive
            snapshots.append((count_prompts(database, jobs), Counter(call["sha256"] for call in server.calls)))
            end_sessions(settings)
        server.latency = 0.0
        assert wait(run_in_child(partial(work, settings, jobs))) == DONE
        return _account(database, jobs, server, snapshots, reference)


def _load_undisturbed(home: Path, server: FakeEndpoint, many: int) -> list[dict[str, Any]]:
    """Return the stored episodes of undisturbed jobs."""
    settings = make_settings(home, concurrency=IN_FLIGHT)
    jobs = submit_all(home, server.tgi, many)
    assert wait(run_in_child(partial(work, settings, jobs))) == DONE
    database = open_database(settings.database)
    episodes_by_job = [load_episodes(database, job) for job in jobs]
    database.close()
    return episodes_by_job


def _account(
    database: Database,
    jobs: Sequence[str],
    server: FakeEndpoint,
    snapshots: Sequence[tuple[Counter[str], Counter[str]]],
    reference: Sequence[dict[str, Any]],
) -> Account:
    episodes_by_job = [load_episodes(database, job) for job in jobs]
    calls, stored_prompts = Counter(call["sha256"] for call in server.calls), count_prompts(database, jobs)
    database.close()
    repeated_requests = 0
    for (stored_before, before), (_, after) in zip(snapshots, [*snapshots[1:], (stored_prompts, calls)], strict=True):
        # Every reply to this prompt that the episodes need was stored before, and it was requested again.
        repeated_requests += sum(
            after[prompt] - before[prompt] for prompt in after if stored_before[prompt] >= stored_prompts[prompt]
        )
    different = sum(
        theirs != job_episodes.get(row)
        for reference_episodes, job_episodes in zip(reference, episodes_by_job, strict=True)
        for row, theirs in reference_episodes.items()
    )
    sizes = [0, *(prompts.total() for prompts, _ in snapshots)]
    productive_kills = sum(later > sooner for sooner, later in pairwise(sizes))
    return Account(
        len(snapshots),
        calls.total(),
        stored_prompts.total(),
        repeated_requests,
        different,
        sum(map(len, reference)),
        productive_kills,
    )
