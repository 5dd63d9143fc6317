"""Rows that are read in a stream: the same tasks and the same digest as a list of them, in a file or in memory."""

from __future__ import annotations

import errno
import json
import tempfile
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.scoring.sample_sets import sample_sets
from lumos_queue.submission import store, task_file
from lumos_queue.submission.store import read_rows
from lumos_queue.submission.task_file import BLOCK, IN_MEMORY, FirstTasks, TaskFile
from lumos_queue.util.sanitize import storable, storable_json

GSM8K = open_benchmark("gsm8k")
COUNT = 2 * IN_MEMORY + BLOCK + 7


def tasks(count: int) -> list[Task]:
    gold = ({"answer": "6", "solution": "é"}, None, ["a", {"b": 1.5, "c": [True, None]}], "text")
    return [Task("b", "", str(one), f"question {one}", {"n": one}, gold[one % 4]) for one in range(count)]


def filed(made: list[Task], dataset: str = "d"):
    file = TaskFile("b")
    for task in made:
        file.append(task)
    return file.freeze(dataset)


@pytest.mark.parametrize("count", [0, 1, IN_MEMORY, IN_MEMORY + 1, COUNT])
def test_what_was_added_is_read_back(count):
    made = tasks(count)
    found, expected = filed(made), [replace(task, dataset="d") for task in made]
    assert isinstance(found, tuple) == (count <= IN_MEMORY)
    assert len(found) == count and list(found) == list(found) == expected
    for part in (
        slice(3),
        slice(None),
        slice(4990, 5010),
        slice(-7, None),
        slice(0, count, 997),
        slice(count, 2 * count),
    ):
        assert list(found[part]) == expected[part]
    for place in (0, -1, count // 2, min(count - 1, IN_MEMORY)) if count else ():
        assert found[place] == expected[place]
    for place in (count, -count - 1):
        with pytest.raises(IndexError):
            found[place]
    assert list(zip(found, found, strict=True)) == [(one, one) for one in expected]  # two readers at once


def test_the_digest_is_that_of_all_rows_at_once(tmp_path):
    rows = [{"question": f"How many? {one}", "answer": f"It is é.\n#### {one}"} for one in range(IN_MEMORY + 3)]
    rows[7]["question"] = "NUL \x00, lone \ud800, “”"
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_rows(GSM8K, path, "train", False)
    clean = [(one.row, storable(one.question)[0], {}, storable_json(one.gold)) for one in GSM8K.read(path, "train")]
    texts = [json.dumps(list(one), sort_keys=True, ensure_ascii=False) for one in clean]
    assert found.digest == digest("gsm8k", *texts)
    assert [(one.row, one.question, one.inputs, one.gold) for one in found.tasks] == clean
    assert {one.dataset for one in found.tasks} == {found.digest}


class Rows:
    """A benchmark whose rows are these tasks."""

    name, needs_data, options, licence = "b", False, {}, "MIT"

    def __init__(self, made):
        self.made = made

    def read(self, path, split):
        return iter(self.made)


def test_drawn_sets_are_those_of_the_list(monkeypatch):
    made = tasks(300)
    small = read_rows(Rows(made), None, "test", False, sample=lambda found: sample_sets(found, 40, 3))
    monkeypatch.setattr(task_file, "IN_MEMORY", 10)
    monkeypatch.setattr(task_file, "BLOCK", 5)
    large = read_rows(Rows(made), None, "test", False, sample=lambda found: sample_sets(found, 40, 3))
    assert isinstance(small.tasks, tuple) and isinstance(large.tasks, TaskFile)
    assert small.digest == large.digest and list(small.tasks) == list(large.tasks)


@pytest.mark.parametrize(
    "odd", [{1: "x"}, {"a": (1, 2)}, {"a": float("nan")}, {"a\x00": "b"}, {"a": "\ud800"}, {"a": "NaN"}]
)
def test_what_is_stored_is_what_was_stored_before(odd):
    """The short way for clean rows gives what the long one gives."""
    task = Task("b", "", "1", "q", {}, odd)
    assert store._prepare(task) == (store._sanitize_task(task), store._canonical(store._sanitize_task(task)))


def test_a_full_disk_is_one_line(monkeypatch):
    class Full:
        def write(self, _):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(SpecError, match=r"temporary files, '.*': No space left on device\. Name another .* TMPDIR\."):
        filed(tasks(IN_MEMORY + 1))


def test_memory_does_not_grow_with_the_rows(tmp_path):
    def peak(count: int) -> int:
        path = Path(tmp_path / f"{count}.jsonl")
        line = json.dumps({"question": "How many tarts? " * 20, "answer": "Many.\n#### 7"}) + "\n"
        path.write_text(line * count)
        tracemalloc.start()
        try:
            rows = read_rows(GSM8K, path, "train", False)
            assert sum(1 for _ in rows.tasks) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(4 * IN_MEMORY) < 1.2 * peak(2 * IN_MEMORY)


def test_of_many_bad_rows_a_few_are_kept(tmp_path):
    path = tmp_path / "rows.jsonl"
    good, wrong = json.dumps({"question": "q", "answer": "#### 1"}), json.dumps({"question": "q", "answer": "none"})
    path.write_text("\n".join([good, *[wrong] * 1000]))
    rows = read_rows(GSM8K, path, "train", True)
    assert len(rows.bad) == 1000 and len(rows.bad._first) == store.MAX_LISTED and rows.bad[0].row == 2
    with pytest.raises(SpecError, match=r"1000 rows \(row 2, .*; and 995 more\) cannot be read, 1 can"):
        read_rows(GSM8K, path, "train", False)


def test_names_that_are_numbers_and_others_are_told_apart():
    from lumos_queue.readers.rows import _RowNames

    names = ["1", "01", "0", "00", "x", "12345678", "1234567", "٣", "3", "", "-1"]
    seen = _RowNames()
    assert [seen.add(name) for name in names] == [True] * len(names)
    assert [seen.add(name) for name in names] == [False] * len(names)


@pytest.mark.parametrize("count", [0, 3, IN_MEMORY + BLOCK, IN_MEMORY + 2 * BLOCK])
def test_the_first_tasks_of_a_file_are_those_of_the_list(count):
    made = tasks(IN_MEMORY + BLOCK)
    first, expected = FirstTasks(filed(made, ""), count), made[:count]
    assert len(first) == len(expected) and list(first) == list(expected)
    assert list(first[2:7:2]) == list(expected[2:7:2])
    with pytest.raises(IndexError):
        first[len(expected)]
    if expected:
        assert first[-1] == expected[-1] and first[0] == expected[0]
