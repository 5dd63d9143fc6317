"""Plans of experts in a worker that is killed with SIGKILL at random instants. Experts run in their own processes."""

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

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.journal.tool_calls import load_executions
from db.models import Artifact, EpisodeArtifact, EpisodeRow, TaskRow, ToolCallRow
from db.queue.job_changes import remove
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
from tests.kills.stored_episodes import load_episodes
from tests.stored_rows import state

SAMPLES = 2
#: For each set of augmentations two tasks restore the same pictures: they share 32 runs, and 15 runs classify.
RESTORED = tuple(
    spec for spec in TASKS if spec.category == "image-image" or (spec.goal, spec.language) == (LABEL, "en")
)
SECONDS = 0.4  #: that are added to each run


@dataclass(frozen=True, slots=True)
class Account:
    """The results of the kills."""

    kills: int  #: that hit a process at work
    runs: int  #: of experts, those that were killed included
    repeated: int  #: runs whose result was stored already
    different: int  #: episodes that differ from those of the run that nothing killed, in rows or artifacts
    episodes: int
    worked: int  #: kills between which something new was stored
    orphans: int  #: artifacts that remain when the job is removed


def submit_job(home: Path) -> str:
    """Submit the restoration of pictures by gold plans, with experts by rule; return the job's id."""
    home.mkdir()
    artifacts: dict[str, bytes] = {}
    tasks = [generate_task(spec, SAMPLES, "strong", artifacts) for spec in RESTORED]
    rules = [{"contains": f"Objective: {spec.description}\n", "reply": spec.plan.write()} for spec in RESTORED]
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
    database = open_database(make_settings(home).database)
    upgrade(database)
    infer = Infer("openagi", rows.digest, "all", "model-synthesis", agent)
    job, _ = submit(database, make_settings(home), Evaluate(infer), rows)
    database.close()
    return job


def work(settings: Settings, job: str, log: Path, seconds: float) -> None:
    """Work on the job; each run of an expert is logged before it begins."""
    plain = ExpertHost.run
    log_file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    async def run(self: ExpertHost, facts: BackendFacts, inputs: Sequence[Sequence[bytes]]) -> Any:
        digests = [[hashlib.sha256(content).hexdigest() for content in slot] for slot in inputs]
        os.write(log_file, f"{_key(facts.digest, digests)}\n".encode())
        await asyncio.sleep(seconds)
        return await plain(self, facts, inputs)

    ExpertHost.run = run  # type: ignore[method-assign]
    resume_job(settings, job)


def kill_experts(folder: Path, kills: int, seed: int, longest: float) -> Account:
    """Run the job twice, once with so many kills at random instants, and compare.

    Raises AssertionError if the work is done before the last kill.
    """
    draw = random.Random(f"kills of experts {seed}")
    ExpertActions()  # imports the modules of a child beforehand
    first = submit_job(folder / "whole")
    settings = make_settings(folder / "whole", concurrency=3)
    assert wait(run_in_child(partial(work, settings, first, folder / "whole.log", 0.0))) == DONE
    reference = _load_finished(settings, first)
    job, log = submit_job(folder / "killed"), folder / "killed.log"
    settings = make_settings(folder / "killed", concurrency=3)
    log.touch()
    database = open_database(settings.database)
    repeated_runs, stored_runs = 0, [set[str]()]
    for number in range(kills):
        before = len(_lines(log))
        pid = run_in_child(partial(work, settings, job, log, SECONDS))
        if number % 2:  # every other kill comes when something new is stored, however slow the machine is
            wait_for_progress(lambda: _load_stored_runs(database, job) != stored_runs[-1])
        time.sleep(draw.uniform(0.0, longest))
        os.killpg(pid, signal.SIGKILL)
        assert wait(pid) == KILLED, f"all was done after {number} of {kills} kills"
        repeated_runs += sum(line in stored_runs[-1] for line in _lines(log)[before:])
        time.sleep(0.02)
        stored_runs.append(_load_stored_runs(database, job))
        end_sessions(settings)
    before = len(_lines(log))
    assert wait(run_in_child(partial(work, settings, job, log, 0.0))) == DONE
    repeated_runs += sum(line in stored_runs[-1] for line in _lines(log)[before:])
    assert state(database, job) == "done"
    episodes = _load_finished(settings, job)
    different = sum(episodes[row] != reference[row] for row in reference)
    productive_kills = sum(after > earlier for earlier, after in pairwise(stored_runs))
    remove(database, job)
    with database.engine.connect() as connection:
        orphans = connection.execute(select(func.count()).select_from(Artifact)).scalar_one()
    database.close()
    return Account(kills, len(_lines(log)), repeated_runs, different, len(episodes), productive_kills, orphans)


def _key(digest: str, inputs: object) -> str:
    return f"{digest} {json.dumps(inputs)}"


def _lines(log: Path) -> list[str]:
    return log.read_text().splitlines()


def _load_stored_runs(database: Database, job: str) -> set[str]:
    """Return the keys of the runs whose results are stored."""
    query = select(ToolCallRow.__table__).join(EpisodeRow, EpisodeRow.id == ToolCallRow.episode)
    with database.engine.connect() as connection:
        rows = connection.execute(query.where(EpisodeRow.job == job)).all()
        executions = load_executions(connection, rows)
    good = [
        row
        for row, execution in zip(rows, executions, strict=True)
        if execution.ok and not execution.values[0]["problems"]
    ]
    return {_key(row.arguments["digest"], row.arguments["inputs"]) for row in good}


def _load_finished(settings: Settings, job: str) -> dict[str, Any]:
    """Return the stored episodes by row of the task, with digests of artifacts, without the provenance of calls."""
    database = open_database(settings.database)
    episodes = load_episodes(database, job)
    for episode in episodes.values():
        episode["tool_call"] = [row[:-1] for row in episode["tool_call"]]
        del episode["rows"]["agent"]  # it names the file of rules
    query = (
        select(TaskRow.row, EpisodeArtifact.digest, Artifact.data)
        .join(EpisodeRow, EpisodeRow.id == EpisodeArtifact.episode)
        .join(TaskRow, TaskRow.id == EpisodeRow.task)
        .join(Artifact, Artifact.digest == EpisodeArtifact.digest)
        .where(EpisodeRow.job == job)
    )
    with database.engine.connect() as connection:
        for row, digest, data in connection.execute(query):
            assert hashlib.sha256(data).hexdigest() == digest
            episodes[row].setdefault("artifacts", set()).add(digest)
    database.close()
    assert all(episode["rows"]["ending"] == "answered" for episode in episodes.values()), {
        row: episode["rows"]["message"] for row, episode in episodes.items()
    }
    return episodes
