"""ToolBench's longest recorded search as a job: its replies are given, its observations are recorded answers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from db.connection import open_database
from db.migrate import upgrade
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.compat.toolbench.trees import RecordedDecision, read_decisions
from lumos_queue.jobs.infer import Infer
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.submission.store import submit
from tests.integration.going_on import rows_of
from tests.kills.dying import bury, settings_of, work_and_die
from tests.kills.stored import Places, places, whole
from tests.recorded_search import reply_of

ROW = "8"


def job_of(content: Mapping[str, Any], home: Path) -> str:
    """Submit the search that an answer file holds, in a new folder; returns the job's id."""
    decisions = read_decisions(content["tree"]["tree"])
    functions = [_entry(one) for one in content["answer_generation"]["function"] if one["name"] != "Finish"]
    given = {"policy": [reply_of(one) for one in decisions]}
    answers = [_answer(one) for one in decisions if one.name and one.name != "Finish"]
    inputs = {"functions": functions, "answers": answers, "given": given}
    task = Task("toolbench", "", ROW, content["answer_generation"]["query"], inputs)
    home.mkdir()
    rules = home / "rules.json"
    rules.write_text("[]")  # a model that is asked anything fails: all is given
    benchmark = open_benchmark("toolbench")
    rows = rows_of(benchmark, [task], "I3-inst")
    agent = Agent({"policy": f"scripted:{rules}"}, "tools", limits=Limits(calls=200, depth=12),
                  settings={"back_off": "2"})  # fmt: skip
    settings = settings_of(home)
    database = open_database(settings.database)
    upgrade(database)
    job, _ = submit(database, settings, Infer("toolbench", rows.digest, "I3-inst", "dfsdt", agent), rows)
    database.close()
    return job


def _entry(schema: Mapping[str, Any]) -> dict[str, Any]:
    api, _, tool = schema["name"].rpartition("_for_")
    kinds = {"integer": "NUMBER", "number": "NUMBER", "boolean": "BOOLEAN"}
    said, required = schema["parameters"]["properties"], schema["parameters"]["required"]
    listed = [
        {"name": name, "type": kinds.get(one["type"], "STRING"), "description": "", "default": ""}
        for name, one in said.items()
    ]
    return {
        "category_name": "", "tool_name": tool, "api_name": api, "api_description": "", "method": "GET",
        "required_parameters": [one for one in listed if one["name"] in required],
        "optional_parameters": [one for one in listed if one["name"] not in required],
    }  # fmt: skip


def _answer(decision: RecordedDecision) -> dict[str, Any]:
    api, _, tool = decision.name.rpartition("_for_")
    return {"category": "", "tool": tool, "api": api, "arguments": json.loads(decision.arguments or "{}"),
            "response": decision.observation, "code": decision.code}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Search:
    """The job before it has begun, and what it stores when nothing kills it."""

    folder: Path
    job: str
    expected: dict[str, Any]
    steps: int


def prepare(content: Mapping[str, Any], folder: Path) -> Search:
    """Raises AssertionError where the search does not come to its end."""
    job = job_of(content, folder / "new")
    shutil.copytree(folder / "new", folder / "whole")
    settings, log = settings_of(folder / "whole"), folder / "whole.log"
    assert work_and_die(settings, job, log, None) == 0
    expected, _ = read(settings.home, job)
    return Search(folder, job, expected, len(log.read_text().splitlines()))


def read(home: Path, job: str) -> tuple[dict[str, Any], Places]:
    database = open_database(settings_of(home).database)
    try:
        return whole(database, job), places(database, job)
    finally:
        database.close()


def kill_at(search: Search, step: int) -> tuple[int, int, int]:
    """Kill the search when so many steps are stored, go on, and check what is stored.

    Returns how many steps were stored at the kill, how many were carried out afterwards, and how many of these were
    stored before. Raises AssertionError where the rows are not those of a search that was not killed.
    """
    home, log = search.folder / f"at-{step}", search.folder / f"at-{step}.log"
    shutil.copytree(search.folder / "new", home)
    settings = settings_of(home)
    assert work_and_die(settings, search.job, log, step) == -9, f"step {step}: it was not killed"
    _, before = read(home, search.job)
    log.unlink()
    bury(settings)
    assert work_and_die(settings, search.job, log, None) == 0, f"step {step}: it could not be gone on with"
    after, _ = read(home, search.job)
    assert after == search.expected, f"step {step}: it has stored something else"
    kept = {(position, branch) for _, position, branch in before.get(ROW, ())}
    again = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    shutil.rmtree(home)
    return sum(before.get(ROW, {}).values()), len(again), sum(place in kept for place in again)
