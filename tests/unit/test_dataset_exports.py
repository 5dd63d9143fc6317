"""Exports that the library `datasets` writes of published rows are the same tasks as the rows themselves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import BadRow
from lumos_queue.records import Task
from tests.image_files import honest

EXPORTS = ("jsonl", "csv", "parquet", "saved")


@pytest.fixture
def export(tmp_path, monkeypatch) -> Callable[..., Iterator[Path]]:
    """Writes rows in each form, and gives the paths one after the other."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()

    def write(rows: list[dict[str, Any]], features: Any = None, forms: tuple[str, ...] = EXPORTS) -> Iterator[Path]:
        data = datasets.Dataset.from_list(rows, features=features)
        writers = {"jsonl": data.to_json, "csv": data.to_csv, "parquet": data.to_parquet, "saved": data.save_to_disk}
        for form in forms:
            path = tmp_path / f"rows.{form}"
            writers[form](path)
            yield path

    return write


def read(name: str, path: Path, split: str = "dev", **options: str) -> list[tuple[str, Any]]:
    """What is asked and what is right, by row."""
    rows = list(open_benchmark(name).read(path, split, **options))
    bad = [str(row) for row in rows if isinstance(row, BadRow)]
    assert not bad, (path.name, bad[:3])
    return [(row.question, open_benchmark(name).gold_answer(row)) for row in rows if isinstance(row, Task)]


def tasks(name: str, path: Path, split: str = "dev", **options: str) -> list[Task]:
    return [row for row in open_benchmark(name).read(path, split, **options) if isinstance(row, Task)]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("name", "file", "without"),
    [
        ("gsm8k", "gsm8k/test.jsonl", ()),
        ("svamp", "svamp/SVAMP.json", ()),
        ("hotpotqa", "hotpotqa/hotpot_dev_v1_simplified.json", ()),
        ("hotpotqa", "hotpotqa/hotpot_dev_distractor_hf_columns.json", ()),
        ("strategyqa", "strategyqa/train.json", ("evidence",)),  # its marks and lists fit no column of one type
        ("musique", "musique/musique_ans_dev_sample.jsonl", ()),
        ("musique", "musique/musique_full_sample.jsonl", ()),
    ],
)
def test_exports_of_published_rows_are_the_same_tasks(shared_data, export, name, file, without):
    path = shared_data / file
    rows = json.loads(path.read_text()) if path.suffix == ".json" else lines(path)
    rows = [{key: value for key, value in row.items() if key not in without} for row in rows]
    original = tasks(name, path)
    for copy in export(rows):
        exported = tasks(name, copy)
        assert [(task.row, task.question, task.inputs) for task in exported] == [
            (task.row, task.question, task.inputs) for task in original
        ], copy.name
        for task, other in zip(exported, original, strict=True):
            assert {**task.gold, "evidence": None} == {**other.gold, "evidence": None}, (copy.name, task.row)


def test_the_native_rows_of_hotpotqa_need_the_column_form(shared_data, export):
    """A pair of a title and a number is of two types: `datasets` refuses such rows, so that no export can have them."""
    path = shared_data / "hotpotqa" / "hotpot_dev_distractor_sample.json"
    rows = json.loads(path.read_text())
    for row in rows:
        for field, second in (("supporting_facts", "sent_id"), ("context", "sentences")):
            first, others = zip(*row[field], strict=True)
            row[field] = {"title": list(first), second: list(others)}
    original = tasks("hotpotqa", path)
    for copy in export(rows):
        assert [(task.row, task.question, task.inputs, task.gold) for task in tasks("hotpotqa", copy)] == [
            (task.row, task.question, task.inputs, task.gold) for task in original
        ], copy.name


def test_the_evidence_of_strategyqa_as_text_or_as_lists_is_the_same(shared_data, export):
    path = shared_data / "strategyqa" / "train.json"
    rows = json.loads(path.read_text())[:200]
    original = tasks("strategyqa", path)[:200]
    as_text = [{**row, "evidence": json.dumps(row["evidence"])} for row in rows]
    as_lists = [
        {**row, "evidence": [[list(map(in_list, step)) for step in one] for one in row["evidence"]]} for row in rows
    ]
    for changed in (as_text, as_lists):
        for copy in export(changed, forms=("jsonl", "csv", "parquet")):
            assert [task.gold for task in tasks("strategyqa", copy)] == [task.gold for task in original], copy.name


def in_list(item: Any) -> list[str]:
    return [item] if isinstance(item, str) else item


@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_exports_of_scienceqa_are_the_problems_of_their_split(shared_data, export, split):
    problems = json.loads((shared_data / "scienceqa" / "problems.json").read_text())
    rows = [{"pid": pid, **problem} for pid, problem in problems.items()]
    for subset in ("IMG", "all"):
        original = tasks("scienceqa", shared_data / "scienceqa", split, subset=subset)
        for copy in export(rows):
            exported = tasks("scienceqa", copy, split, subset=subset)
            known = {task.row: (task.question, task.gold) for task in exported}
            assert known == {task.row: (task.question, task.gold) for task in original}, copy.name


def test_images_in_exports_of_scienceqa_are_those_of_the_files(shared_data, export):
    datasets = pytest.importorskip("datasets")
    problems = json.loads((shared_data / "scienceqa" / "problems.json").read_text())
    picture = (shared_data / "scienceqa" / "images" / "test" / "23" / "image.png").read_bytes()
    fields = ("question", "choices", "answer", "hint")
    problem = {field: problems["23"][field] for field in fields}
    images = [{"bytes": content, "path": None} for content in (picture, honest(), picture)]
    rows = [problem | {"image": image} for image in [*images, None]]
    features = datasets.Features(
        {
            "question": datasets.Value("string"),
            "choices": datasets.List(datasets.Value("string")),
            "answer": datasets.Value("int8"),
            "hint": datasets.Value("string"),
            "image": datasets.Image(),
        }
    )
    (original,) = (task for task in tasks("scienceqa", shared_data / "scienceqa", "test") if task.row == "23")
    for copy in export(rows, features, ("csv", "parquet", "saved")):
        first, second, third = tasks("scienceqa", copy, "test")
        assert first.inputs["image"] == third.inputs["image"] == original.inputs["image"], copy.name
        assert second.inputs["image"] != original.inputs["image"]
        assert (first.question, first.gold, first.row, third.row) == (original.question, original.gold, "1", "3")
        assert {path.read_bytes() for path in open_benchmark("scienceqa").artifacts.values()} == {picture, honest()}
        assert not open_benchmark("scienceqa").notes


def test_exports_of_mind2web_are_the_same_steps(shared_data, export):
    path = shared_data / "mind2web" / "reassembled_native.json"
    rows = json.loads(path.read_text())
    original = tasks("mind2web", path, "test_task")
    for copy in export(rows):
        exported = tasks("mind2web", copy, "test_task")
        assert [(task.row, task.question, task.inputs, task.gold) for task in exported] == [
            (task.row, task.question, task.inputs, task.gold) for task in original
        ], copy.name


def test_a_table_that_leaves_out_the_middle_of_a_list_is_refused_with_the_way_out(export):
    rows = [{"question": "Is it so?", "answer": True, "facts": [f"Fact {number}." for number in range(1_001)]}]
    (path,) = export(rows, forms=("csv",))
    (bad,) = open_benchmark("strategyqa").read(path, "dev")
    assert isinstance(bad, BadRow) and bad.field == "facts"
    assert "left out" in bad.problem and "to_json or to_parquet" in bad.problem
