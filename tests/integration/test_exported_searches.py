"""Searches of whole jobs, exported as answer files, beside a second reading of the same stored steps."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

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


def run_searches(name: str, count: int, tmp_path: Path) -> tuple[Counter[str], Counter[str]]:
    """Run and export that many searches; return the differences by field, and the endings."""
    formulation, settings, calls, depth, answers = SEARCHES[name]
    random, table, tasks = Random(f"{SEED} {name}"), {}, []
    for number in range(count):
        script = [*hand.write_replies(random, calls or 40, answers)]
        table |= dict(script)
        inputs = {**tool_apis.TASK.inputs, "answers": hand.ANSWERS, "given": {"policy": [text for text, _ in script]}}
        tasks.append(Task("toolbench", "d", str(number), "Where is parcel P1?", inputs, {"relevant": []}))
    limits = Limits(calls=calls, depth=depth)
    database, job = infer(tmp_path, "", formulation, tasks, limits=limits, settings=settings)
    export_answer_files(database, job, tmp_path / "out")
    differences: Counter[str] = Counter()
    endings: Counter[str] = Counter()
    written = {path.name.partition("_")[0]: path for path in (tmp_path / "out").iterdir()}
    for episode in episodes(database, job):
        endings[episode.ending] += 1
        replay, root = hand.Replay(episode.steps, table), None
        if formulation == "react":
            replay.chain(int(settings.get("tries", 1)), depth)
        else:
            root = hand.Node("Action Input", "")
            replay.search(root, int(settings.get("width", 2)), depth, calls, int(settings.get("back_off", 1)))
        replay.assert_complete()
        path = written.pop(episode.task.row, None)
        if path is None:
            assert root is not None and replay.count == 1, "only a search without a decision has no file"
            continue
        fields = hand.find_differences(json.loads(path.read_text()), replay, root)
        differences.update([*fields, "searches"] if fields else [])
    assert not written
    database.close()
    return differences, endings


@pytest.mark.parametrize("count", [8, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", SEARCHES)
def test_exported_files_have_what_the_steps_have(name: str, count: int, tmp_path: Path) -> None:
    differences, endings = run_searches(name, count, tmp_path)
    assert not differences and endings.total() == count
