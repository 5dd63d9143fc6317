"""Plans of experts that run in processes of their own, in a worker that is killed with SIGKILL at random instants."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from db.connection import Database, open_database
from db.jobs import remove
from db.migrate import upgrade
from db.models import Artifact, EpisodeArtifact, EpisodeRow, TaskRow, ToolCallRow
from db.tool_calls import load_executions
from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.options import prepare_experts
from lumos_queue.benchmarks.openagi.generated_tasks import generate_task
from lumos_queue.benchmarks.openagi.tasks import LABEL, TASKS
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.host import ExpertHost
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import submit
from tests.integration.rollout_jobs import rows_of
from tests.kills.killed_child import DONE, KILLED, bury, go_on, in_child, settings_of, wait, wait_for_progress
from tests.kills.stored_episodes import whole
from tests.stored_rows import state

SAMPLES = 2
#: Two tasks for each set of augmentations, which restore the same pictures: 32 runs serve both, 15 classify.
RESTORED = tuple(one for one in TASKS if one.category == "image-image" or (one.goal, one.language) == (LABEL, "en"))
SECONDS = 0.4  #: that each run takes longer than it does


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the kills."""

    kills: int  #: that hit a process at work
    runs: int  #: of experts, those that were killed included
    repeated: int  #: runs of what was stored already
    different: int  #: episodes that differ from those of the run that nothing killed, in rows or artifacts
    episodes: int
    worked: int  #: kills between which something new was stored
    orphans: int  #: artifacts that are left when the job is removed


def submit_job(home: Path) -> str:
    """The restoration of pictures by gold plans, with experts by rule; returns the job's id."""
    home.mkdir()
    artifacts: dict[str, bytes] = {}
    tasks = [generate_task(spec, SAMPLES, "strong", artifacts) for spec in RESTORED]
    rules = [{"contains": f"Objective: {one.description}\n", "reply": one.plan.write()} for one in RESTORED]
    (home / "rules.json").write_text(json.dumps(rules))
    benchmark = open_benchmark("openagi")
    benchmark.artifacts = artifacts
    rows = rows_of(benchmark, tasks, "all")
    agent = Agent(
        {"planner": f"scripted:{home / 'rules.json'}"},
        "experts",
        tools=prepare_experts({"experts": "own"}),
        samplings=FORMULATIONS.load("model-synthesis").samplings,
    )
    database = open_database(settings_of(home).database)
    upgrade(database)
    infer = Infer("openagi", rows.digest, "all", "model-synthesis", agent)
    job, _ = submit(database, settings_of(home), Evaluate(infer), rows)
    database.close()
    return job


def work(settings: Settings, job: str, log: Path, seconds: float) -> None:
    """Work on the job; each run of an expert is logged before it begins."""
    plain = ExpertHost.run
    begun = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def run(self: ExpertHost, facts: BackendFacts, inputs: Sequence[Sequence[bytes]]) -> Any:
        named = [[hashlib.sha256(one).hexdigest() for one in slot] for slot in inputs]
        os.write(begun, f"{_key(facts.digest, named)}\n".encode())
        await asyncio.sleep(seconds)
        return await plain(self, facts, inputs)

    ExpertHost.run = run  # type: ignore[method-assign]
    go_on(settings, job)


def kill_experts(folder: Path, kills: int, seed: int, longest: float) -> Account:
    """Run the job twice, once with so many kills at random instants, and compare.

    Raises AssertionError when the work is done before as many kills have hit it.
    """
    draw = random.Random(f"kills of experts {seed}")
    ExpertActions()  # what a child would import as it begins
    first = submit_job(folder / "whole")
    settings = settings_of(folder / "whole", concurrency=3)
    assert wait(in_child(partial(work, settings, first, folder / "whole.log", 0.0))) == DONE
    expected = _finished(settings, first)
    job, log = submit_job(folder / "killed"), folder / "killed.log"
    settings = settings_of(folder / "killed", concurrency=3)
    log.touch()
    database = open_database(settings.database)
    repeated, stored = 0, [set[str]()]
    for number in range(kills):
        before = len(_lines(log))
        pid = in_child(partial(work, settings, job, log, SECONDS))
        if number % 2:  # every other kill comes when something new is stored, however slow the machine is
            wait_for_progress(lambda: _stored(database, job) != stored[-1])
        time.sleep(draw.uniform(0.0, longest))
        os.killpg(pid, signal.SIGKILL)
        assert wait(pid) == KILLED, f"all was done after {number} of {kills} kills"
        repeated += sum(one in stored[-1] for one in _lines(log)[before:])
        time.sleep(0.02)
        stored.append(_stored(database, job))
        bury(settings)
    before = len(_lines(log))
    assert wait(in_child(partial(work, settings, job, log, 0.0))) == DONE
    repeated += sum(one in stored[-1] for one in _lines(log)[before:])
    assert state(database, job) == "done"
    found = _finished(settings, job)
    different = sum(found[row] != expected[row] for row in expected)
    worked = sum(after > earlier for earlier, after in pairwise(stored))
    remove(database, job)
    with database.engine.connect() as connection:
        orphans = connection.execute(select(func.count()).select_from(Artifact)).scalar_one()
    database.close()
    return Account(kills, len(_lines(log)), repeated, different, len(found), worked, orphans)


def _key(digest: str, inputs: object) -> str:
    return f"{digest} {json.dumps(inputs)}"


def _lines(log: Path) -> list[str]:
    return log.read_text().splitlines()


def _stored(database: Database, job: str) -> set[str]:
    """What was run and is stored."""
    wanted = select(ToolCallRow.__table__).join(EpisodeRow, EpisodeRow.id == ToolCallRow.episode)
    with database.engine.connect() as connection:
        rows = connection.execute(wanted.where(EpisodeRow.job == job)).all()
        done = load_executions(connection, rows)
    good = [row for row, one in zip(rows, done, strict=True) if one.ok and not one.values[0]["problems"]]
    return {_key(row.arguments["digest"], row.arguments["inputs"]) for row in good}


def _finished(settings: Settings, job: str) -> dict[str, Any]:
    """By the task's row: what is stored of it, and its artifacts by digest. Who ran an equal call first may differ."""
    database = open_database(settings.database)
    found = whole(database, job)
    for one in found.values():
        one["tool_call"] = [row[:-1] for row in one["tool_call"]]
        del one["rows"]["agent"]  # it names the file of rules
    wanted = (
        select(TaskRow.row, EpisodeArtifact.digest, Artifact.data)
        .join(EpisodeRow, EpisodeRow.id == EpisodeArtifact.episode)
        .join(TaskRow, TaskRow.id == EpisodeRow.task)
        .join(Artifact, Artifact.digest == EpisodeArtifact.digest)
        .where(EpisodeRow.job == job)
    )
    with database.engine.connect() as connection:
        for row, digest, data in connection.execute(wanted):
            assert hashlib.sha256(data).hexdigest() == digest
            found[row].setdefault("artifacts", set()).add(digest)
    database.close()
    assert all(one["rows"]["ending"] == "answered" for one in found.values()), {
        row: one["rows"]["message"] for row, one in found.items()
    }
    return found
