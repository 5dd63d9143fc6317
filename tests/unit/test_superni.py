"""Super-NaturalInstructions: its folder as published, its score, its rows of the papers' tables. Texts are our own."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.benchmarks.superni.benchmark import rouge_l
from lumos_queue.cli.main import main
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.instructions import DIRECTLY
from lumos_queue.records import Task
from tests.fake_endpoint import FakeEndpoint

ANIMALS = {
    "Definition": ["Say which animal is meant."],
    "Categories": ["Naming"],
    "Instances": [
        {"id": "a-1", "input": "It barks.", "output": ["a dog", "the dogs"]},
        {"id": "a-2", "input": "It meows.", "output": ["a cat"]},
    ],
}
COLOURS = {"Definition": ["Name a colour."], "Instances": [{"id": "c-1", "input": "", "output": ["red"]}]}


@pytest.fixture
def folder(tmp_path):
    """The repository's folder with three tasks, of which two are of the test split."""
    (tmp_path / "tasks").mkdir()
    for name, task in (("task001_animals", ANIMALS), ("task002_colours", COLOURS), ("task003_train", ANIMALS)):
        (tmp_path / "tasks" / f"{name}.json").write_text(json.dumps(task))
    lists = tmp_path / "splits" / "default"
    lists.mkdir(parents=True)
    (lists / "test_tasks.txt").write_text("task001_animals\ntask002_colours\n")
    (lists / "train_tasks.txt").write_text("task003_train\n")
    return tmp_path


def read(path, split="test", **options):
    return list(open_benchmark("superni").read(path, split, **options))


@pytest.mark.parametrize("inside", ["", "tasks"])
def test_the_tasks_of_a_split_are_read_with_definition_and_input(folder, inside):
    rows = read(folder / inside)
    assert [row.row for row in rows] == ["task001_animals-1", "task001_animals-2", "task002_colours-1"]
    assert rows[0].question == f"Say which animal is meant.\n\nIt barks.\n\n{DIRECTLY}"
    assert rows[2].question == f"Name a colour.\n\n{DIRECTLY}"
    assert rows[0].gold == {"answer": "a dog", "outputs": ["a dog", "the dogs"]}
    assert [row.row for row in read(folder, "train")] == ["task003_train-1", "task003_train-2"]
    assert open_benchmark("superni").notes == []


def test_a_folder_without_lists_is_read_whole_and_a_file_alone(folder, tmp_path):
    (folder / "splits" / "default" / "test_tasks.txt").unlink()
    assert len(read(folder)) == 5 and "all 3 task files" in open_benchmark("superni").notes[0]
    assert len(read(folder / "tasks" / "task002_colours.json")) == 1


def test_so_many_instances_of_each_task_count(folder):
    many = {**ANIMALS, "Instances": [{"input": f"{n}", "output": ["x"]} for n in range(130)]}
    (folder / "tasks" / "task002_colours.json").write_text(json.dumps(many))
    assert len(read(folder)) == 102 and len(read(folder, instances="1")) == 2
    with pytest.raises(SpecError, match="instances=many cannot be read"):
        read(folder, instances="many")


@pytest.mark.parametrize(
    ("instance", "field"),
    [
        ({"input": "x", "output": []}, "output"),
        ({"input": "x", "output": ["a", " "]}, "output"),
        ({"input": 3, "output": ["a"]}, "input"),
        ({"input": "x", "output": "a"}, "output"),
    ],
)
def test_a_bad_instance_names_its_file_and_field_and_the_others_are_read(folder, instance, field):
    path = folder / "tasks" / "task002_colours.json"
    path.write_text(json.dumps({**COLOURS, "Instances": [instance, *COLOURS["Instances"]]}))
    bad, good = read(path)
    assert isinstance(good, Task) and isinstance(bad, BadRow)
    assert bad.field.startswith(f"task002_colours.json: Instances[0].{field}")


@pytest.mark.parametrize("content", ["[]", "{}", "no", ""])
def test_what_is_no_task_is_refused(folder, content):
    (folder / "tasks" / "task002_colours.json").write_text(content)
    with pytest.raises(SpecError, match="task002_colours"):
        read(folder)


def test_missing_folders_and_tasks_are_named(folder, tmp_path):
    (folder / "tasks" / "task002_colours.json").unlink()
    with pytest.raises(SpecError, match=r"lists 1 tasks that have no file.*task002_colours"):
        read(folder)
    (tmp_path / "empty").mkdir()
    for path, told in ((tmp_path / "empty", "no file task"), (tmp_path / "none", "Cannot read"), (None, "--data")):
        with pytest.raises(SpecError, match=told):
            read(path)


def test_rouge_l_is_the_longest_common_subsequence_of_stems():
    assert rouge_l("a dog", "a dog") == 1.0 and rouge_l("dogs", "dog") == 1.0
    assert rouge_l("the big dog", "the dog") == pytest.approx(0.8)  # 2 of 3 and 2 of 2 words
    assert rouge_l("dog the", "the dog") == pytest.approx(0.5) and rouge_l("x", "the dog") == 0.0


def test_an_answer_counts_by_the_reference_it_is_most_like(folder):
    benchmark, task = open_benchmark("superni"), read(folder)[0]
    values = [benchmark.score(task, EpisodeResult(answer))[0].value for answer in ("A dog.", "dogs", "", None)]
    assert values == [1.0, pytest.approx(2 / 3), 0.0, 0.0]


def test_the_row_of_the_table_runs_once_its_folder_is_given(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))

    def lumos(*arguments: str) -> dict:
        assert main((*arguments, "--json")) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    row = lumos("papers", "p3/unified-and-Alpaca")["tables"][0]["rows"][0]
    assert row["published"] == "39.3" and row["status"].startswith("not run: needs weights that were never released")
    assert "--direct alpaca_data.json" in row["status"] and "allenai/natural-instructions" in row["status"]
    replies = {"It barks.": "a dog", "It meows.": "a dog", "Name a colour.": "red"}
    with FakeEndpoint(lambda prompt: next(said for asked, said in replies.items() if asked in prompt)) as model:
        report = lumos(
            "papers",
            "p3/unified-and-Alpaca",
            "--run",
            "--any-weights",
            "--solver",
            model.tgi,
            "--data",
            str(folder),
            "--published",
        )
    assert report["n"] == 3 and report["value"] == pytest.approx(2.5 / 3)
    (shown,) = lumos("papers", "p3/unified-and-Alpaca")["tables"][0]["rows"]
    assert shown["ours"]["value"] == pytest.approx(250 / 3, abs=0.01) and shown["ours"]["n"] == "3"


def test_formulations_that_plan_are_refused(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    assert main(("evaluate", "superni", "--data", str(folder), "--agent", "starter")) == 2
    assert "No formulation for 'superni' called 'iterative'. Choose one of: direct" in capsys.readouterr().err
