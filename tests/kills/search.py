"""A search as a job whose process is killed: the longest recorded search of ToolBench, or one in a generated world.

The task contains the replies, so that no model is called. Observations are recorded answers, or follow from the task.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.compat.toolbench.trees import RecordedDecision, read_decisions
from lumos_queue.jobs.infer import Infer
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.submission.store import submit
from tests.integration.rollout_jobs import rows_of
from tests.kills.killed_child import end_sessions, make_settings, work_and_die
from tests.kills.stored_episodes import StepCounts, count_stored_steps, load_episodes
from tests.recorded_search import reply_of

ROW = "8"


def make_recorded_search(content: Mapping[str, Any]) -> tuple[Task, Agent]:
    """Return the search of an answer file."""
    decisions = read_decisions(content["tree"]["tree"])
    functions = [
        _make_function(function)
        for function in content["answer_generation"]["function"]
        if function["name"] != "Finish"
    ]
    replies = {"policy": [reply_of(decision) for decision in decisions]}
    answers = [_make_answer(decision) for decision in decisions if decision.name and decision.name != "Finish"]
    inputs = {"functions": functions, "answers": answers, "given": replies}
    task = Task("toolbench", "", ROW, content["answer_generation"]["query"], inputs)
    return task, Agent({}, "tools", limits=Limits(calls=200, depth=12), settings={"back_off": "2"})


def submit_search(task: Task, agent: Agent, split: str, home: Path) -> str:
    """Submit the search of a task with replies, in a new folder; return the job's id."""
    home.mkdir()
    rules = home / "rules.json"
    rules.write_text("[]")  # any call of a model fails
    rows = rows_of(open_benchmark(task.benchmark), [task], split)
    agent = replace(agent, roles={"policy": f"scripted:{rules}"})
    settings = make_settings(home)
    database = open_database(settings.database)
    upgrade(database)
    job, _ = submit(database, settings, Infer(task.benchmark, rows.digest, split, "dfsdt", agent), rows)
    database.close()
    return job


def _make_function(schema: Mapping[str, Any]) -> dict[str, Any]:
    api, _, tool = schema["name"].rpartition("_for_")
    kinds = {"integer": "NUMBER", "number": "NUMBER", "boolean": "BOOLEAN"}
    properties, required_names = schema["parameters"]["properties"], schema["parameters"]["required"]
    parameters = [
        {"name": name, "type": kinds.get(property_schema["type"], "STRING"), "description": "", "default": ""}
        for name, property_schema in properties.items()
    ]
    return {
        "category_name": "",
        "tool_name": tool,
        "api_name": api,
        "api_description": "",
        "method": "GET",
        "required_parameters": [parameter for parameter in parameters if parameter["name"] in required_names],
        "optional_parameters": [parameter for parameter in parameters if parameter["name"] not in required_names],
    }


def _make_answer(decision: RecordedDecision) -> dict[str, Any]:
    api, _, tool = decision.name.rpartition("_for_")
    return {
        "category": "",
        "tool": tool,
        "api": api,
        "arguments": json.loads(decision.arguments or "{}"),
        "response": decision.observation,
        "code": decision.code,
    }


@dataclass(frozen=True, slots=True)
class Search:
    """The job before its start, and the rows that it stores without a kill."""

    folder: Path
    job: str
    row: str
    expected: dict[str, Any]
    steps: int


def prepare(task: Task, agent: Agent, split: str, folder: Path) -> Search:
    """Submit a search, and do it once. Raises AssertionError if it does not end."""
    job = submit_search(task, agent, split, folder / "new")
    shutil.copytree(folder / "new", folder / "whole")
    settings, log = make_settings(folder / "whole"), folder / "whole.log"
    assert work_and_die(settings, job, log, None) == 0
    reference, _ = read_episodes(settings.home, job)
    return Search(folder, job, task.row, reference, len(log.read_text().splitlines()))


def read_episodes(home: Path, job: str) -> tuple[dict[str, Any], StepCounts]:
    database = open_database(make_settings(home).database)
    try:
        return load_episodes(database, job), count_stored_steps(database, job)
    finally:
        database.close()


def kill_at(search: Search, step: int) -> tuple[int, int, int]:
    """Kill the search when so many steps are stored, resume it, and check the stored rows.

    Return the steps that were stored at the kill, the steps that were carried out afterwards, and how many of these
    were stored before. Raises AssertionError if the rows differ from those of an undisturbed search.
    """
    home, log = search.folder / f"at-{step}", search.folder / f"at-{step}.log"
    shutil.copytree(search.folder / "new", home)
    settings = make_settings(home)
    assert work_and_die(settings, search.job, log, step) == -9, f"step {step}: it was not killed"
    _, before = read_episodes(home, search.job)
    log.unlink()
    end_sessions(settings)
    assert work_and_die(settings, search.job, log, None) == 0, f"step {step}: it could not be resumed"
    after, _ = read_episodes(home, search.job)
    assert after == search.expected, f"step {step}: it has stored something else"
    stored_steps = {(position, branch) for _, position, branch in before.get(search.row, ())}
    again = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    shutil.rmtree(home)
    return sum(before.get(search.row, {}).values()), len(again), sum(step_key in stored_steps for step_key in again)
