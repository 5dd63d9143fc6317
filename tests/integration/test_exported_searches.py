"""Searches of whole jobs, exported as answer files, beside a second reading of the same stored steps."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from db.engine.connection import Database
from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.limits import Limits
from lumos_queue.records import Task
from lumos_queue.searches.answer_export import export_answer_files
from tests import searches_by_hand as hand
from tests import tool_apis
from tests.integration.test_answer_files import episodes, imported, infer

SEED = 49
#: Formulation, settings, limit of model calls (0: none), depth in nodes, share of replies that answer.
SEARCHES: dict[str, tuple[str, dict[str, str], int, int, float]] = {
    "react": ("react", {}, 0, 12, 0.1),
    "react, three tries": ("react", {"tries": "3"}, 0, 12, 0.05),
    "react, three tries of seven nodes": ("react", {"tries": "3"}, 0, 7, 0.05),
    "react, limit of calls": ("react", {"tries": "2"}, 4, 12, 0.1),
    "dfsdt": ("dfsdt", {}, 200, 9, 0.1),
    "dfsdt, two calls": ("dfsdt", {}, 2, 12, 0.2),
    "dfsdt, four calls": ("dfsdt", {}, 4, 12, 0.1),
    "dfsdt, twelve calls": ("dfsdt", {}, 12, 12, 0.03),
    "dfsdt, three beside each other": ("dfsdt", {"width": "3"}, 20, 6, 0.02),
    "dfsdt, two levels back": ("dfsdt", {"back_off": "2"}, 15, 7, 0.03),
}
MAX_REPLIES = 200
Table = dict[str, hand.Parts]


def make_script(random: Random, name: str, table: Table, function: str = tool_apis.LATEST_NAME) -> list[str]:
    """Return enough replies for a search, and add what is in them to the table."""
    _, _, calls, _, answers = SEARCHES[name]
    replies = [hand.random_parts(random, answers, function) for _ in range(calls or MAX_REPLIES)]
    texts = [hand.make_reply(parts) for parts in replies]
    table.update(zip(texts, replies, strict=True))
    return texts


def make_tasks(name: str, count: int) -> tuple[list[Task], Table]:
    """Return tasks with the replies of random searches, and what is in each reply."""
    random, tasks = Random(f"{SEED} {name}"), []
    table: Table = {}
    for number in range(count):
        replies = {"policy": make_script(random, name, table)}
        inputs = {**tool_apis.TASK.inputs, "answers": hand.ANSWERS, "given": replies}
        tasks.append(Task("toolbench", "d", str(number), "Where is parcel P1?", inputs, {"relevant": []}))
    return tasks, table


def run_and_export(name: str, tasks: list[Task], tmp_path: Path) -> tuple[Database, str, dict[str, Any]]:
    """Return the database, the job, and the contents of the files by the number of the query."""
    formulation, settings, calls, depth, _ = SEARCHES[name]
    limits = Limits(calls=calls, depth=depth)
    database, job = infer(tmp_path, "", formulation, tasks, limits=limits, settings=settings)
    export_answer_files(database, job, tmp_path / "out")
    paths = sorted((tmp_path / "out").iterdir())
    return database, job, {path.name.partition("_")[0]: json.loads(path.read_text()) for path in paths}


def find_differences(name: str, count: int, tmp_path: Path) -> tuple[Counter[str], Counter[str]]:
    """Run and export that many searches.

    Return the fields that differ from the second reading, and how many searches ended at their limit of calls or below.
    """
    formulation, settings, calls, depth, _ = SEARCHES[name]
    tasks, table = make_tasks(name, count)
    database, job, contents = run_and_export(name, tasks, tmp_path)
    differences: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for episode in episodes(database, job):
        replay, root = hand.Replay(episode.steps, table), None
        if formulation == "react":
            replay.chain(int(settings.get("tries", 1)), depth)
        else:
            root = hand.Node("Action Input", "")
            replay.search(root, int(settings.get("width", 2)), depth, calls, int(settings.get("back_off", 1)))
        replay.assert_complete()
        ends["at the limit" if replay.count == calls else "below"] += 1
        fields = hand.find_differences(contents.pop(episode.task.row), replay, root)
        differences.update([*fields, "searches"] if fields else [])
    assert not contents
    database.close()
    return differences, ends


@pytest.mark.parametrize("count", [8, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", SEARCHES)
def test_exported_files_have_what_the_steps_have(name: str, count: int, tmp_path: Path) -> None:
    differences, ends = find_differences(name, count, tmp_path)
    assert not differences and ends.total() == count
    if count >= 100:
        limit = SEARCHES[name][2]
        assert ends["below"] and bool(ends["at the limit"]) == (0 < limit < MAX_REPLIES)


def assert_given_back(database: Database, tmp_path: Path, paths: Sequence[Path]) -> None:
    """Import files, export them again, and compare whole contents: each field of each file."""
    summary = imported(database, tmp_path, list(paths))
    assert export_answer_files(database, summary.job, tmp_path / "again") == len(paths)
    for path in paths:
        again = tmp_path / "again" / path.name
        assert json.loads(again.read_text()) == json.loads(path.read_text()), path.name


@pytest.mark.parametrize("count", [4, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["react, three tries", "dfsdt, four calls", "dfsdt, three beside each other"])
def test_exported_files_are_imported_and_given_back(name: str, count: int, tmp_path: Path) -> None:
    database, _, contents = run_and_export(name, make_tasks(name, count)[0], tmp_path)
    assert len(contents) == count
    assert_given_back(database, tmp_path, sorted((tmp_path / "out").iterdir()))
    database.close()


FIRST_SPLIT, *OTHER_SPLITS = open_benchmark("toolbench").test_splits


@pytest.mark.parametrize("split", [FIRST_SPLIT, *(pytest.param(name, marks=pytest.mark.long) for name in OTHER_SPLITS)])
@pytest.mark.parametrize("name", ["react, three tries", "dfsdt, twelve calls"])
def test_searches_for_published_queries_are_given_back(
    name: str, split: str, shared_data: Path, tmp_path: Path
) -> None:
    """Random searches for StableToolBench's queries, with the functions of each query."""
    folder = shared_data / "stabletoolbench" / "solvable_queries" / "test_instruction"
    random, tasks = Random(f"{SEED} {split}"), []
    for task in open_benchmark("toolbench").read(folder, split):
        assert isinstance(task, Task)
        function = random.choice(functions_of(task.inputs["functions"]))
        replies = {"policy": make_script(random, name, {}, function.name)}
        tasks.append(Task("toolbench", "d", task.row, task.question, {**task.inputs, "given": replies}, task.gold))
    database, _, contents = run_and_export(name, tasks, tmp_path)
    assert {content["answer_generation"]["query"] for content in contents.values()} == {task.question for task in tasks}
    assert_given_back(database, tmp_path, sorted((tmp_path / "out").iterdir()))
    database.close()
