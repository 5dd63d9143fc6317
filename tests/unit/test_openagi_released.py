"""Folders in OpenAGI's released layout, and folders that only claim to be."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lumos_queue.benchmarks.openagi.benchmark import benchmark
from lumos_queue.benchmarks.openagi.data.png import read_png
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Task
from lumos_queue.submission.store import read_rows
from tests.image_files import gif_bomb, png, text_bomb


def write_texts(folder: Path, name: str, *lines: str) -> None:
    folder.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
    folder.joinpath(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_pictures(folder: Path, name: str, count: int, size=(40, 30)) -> None:
    folder.joinpath(name).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        pixels = np.full((*reversed(size), 3), 40 * number, np.uint8)
        pixels[:, :, 1] = np.random.RandomState(number).randint(0, 256, tuple(reversed(size)))
        Image.fromarray(pixels).save(folder / name / f"{number}.jpg")


@pytest.fixture
def released(tmp_path):
    """A task of each category, with three samples."""
    write_pictures(tmp_path / "0", "inputs/images", 3)
    write_pictures(tmp_path / "0", "outputs/images", 3, (300, 200))
    write_pictures(tmp_path / "15", "inputs/images", 3)
    write_texts(tmp_path / "15", "outputs/labels.txt", "eins", "zwei", "drei")
    write_texts(tmp_path / "105", "inputs/captions.txt", "a [MASK] dog", "a cat [MASK]", "[MASK] bird")
    write_texts(tmp_path / "106", "inputs/captions.txt", "a big dog", "a cat sleeps", "a bird")
    write_texts(tmp_path / "113", "inputs/text.txt", "one", "two", "three")
    write_texts(tmp_path / "113", "outputs/labels.txt", "eins", "zwei", "drei")
    write_pictures(tmp_path / "176", "inputs/images", 3)
    write_texts(tmp_path / "176", "inputs/questions.txt", "q1", "q2", "q3")
    write_texts(tmp_path / "176", "outputs/answers.txt", "a1", "a2", "a3")
    write_texts(tmp_path / "184", "inputs/context.txt", "d1", "d2", "d3")
    write_texts(tmp_path / "184", "inputs/questions.txt", "q1", "q2", "q3")
    write_texts(tmp_path / "184", "outputs/answers.txt", "a1", "a2", "a3")
    return tmp_path


def read(path, **options):
    rows = list(benchmark.read(path, "all", **options))
    assert len(rows) == 185
    return {row.row: row for row in rows if isinstance(row, Task)}, [row for row in rows if isinstance(row, BadRow)]


def problem(path, task):
    """Why a task cannot be read, as one line."""
    found = [str(row) for row in read(path)[1] if row.field.split("/")[0] == task]
    assert len(found) == 1 and "\n" not in found[0] and len(found[0]) < 500 + len(str(path))
    return found[0]


def test_tasks_are_read_by_the_names_of_their_channels(released):
    tasks, bad = read(released)
    assert set(tasks) == {"0", "15", "105", "106", "113", "176", "184"} and len(bad) == 178
    channels = {row: [(one["name"], one["kind"]) for one in task.inputs["channels"]] for row, task in tasks.items()}
    assert channels["176"] == [("image", "image"), ("question", "text")]
    assert channels["184"] == [("document", "text"), ("question", "text")]
    assert [one["values"] for one in tasks["184"].inputs["channels"]] == [["d1", "d2", "d3"], ["q1", "q2", "q3"]]
    assert tasks["184"].gold["references"] == ["a1", "a2", "a3"]
    assert tasks["113"].gold["references"] == ["eins", "zwei", "drei"]
    assert all("sources" not in task.inputs for task in tasks.values())


def test_pictures_have_the_size_at_which_the_released_code_loads_them(released):
    tasks, _ = read(released)
    values = tasks["0"].inputs["channels"][0]["values"]
    kept = [benchmark.artifacts[one] for one in (*values, *tasks["0"].gold["references"])]
    assert [hashlib.sha256(one).hexdigest() for one in kept[:3]] == values
    assert {read_png(one).shape for one in kept} == {(256, 256, 3)}
    assert [round(float(read_png(one)[:, :, 0].mean()) / 40) for one in kept[:3]] == [0, 1, 2]
    wanted = (
        Image.open(released / "15/inputs/images/1.jpg").convert("RGB").resize((256, 256), Image.Resampling.BILINEAR)
    )
    assert (read_png(benchmark.artifacts[tasks["15"].inputs["channels"][0]["values"][1]]) == np.asarray(wanted)).all()


def test_a_picture_from_text_has_no_reference_but_its_caption_unmasked(released):
    tasks, _ = read(released)
    assert tasks["105"].gold["references"] == tasks["106"].gold["references"] == []
    assert tasks["105"].gold["captions"] == tasks["106"].gold["captions"] == ["a big dog", "a cat sleeps", "a bird"]
    write_texts(released / "106", "inputs/captions.txt", "a big dog", "a cat sleeps", "a black bird")
    assert read(released)[0]["105"].gold["captions"] == []


def test_only_the_first_samples_are_read(released):
    tasks, _ = read(released, samples="2")
    assert {len(one["values"]) for task in tasks.values() for one in task.inputs["channels"]} == {2}
    assert len(tasks["15"].gold["references"]) == 2
    read(released)
    assert benchmark.notes == ["at least one task has only 3 of 10 samples"]


def test_texts_of_several_lines_are_read_from_json_lines(released):
    (released / "184/inputs/context.txt").unlink()
    write_texts(released / "184", "inputs/context.jsonl", *(json.dumps(f"one\n{number}") for number in range(3)))
    assert read(released)[0]["184"].inputs["channels"][0]["values"] == ["one\n0", "one\n1", "one\n2"]


def test_a_task_may_be_read_without_the_others(released):
    rows = read_rows(benchmark, released, "all", skip_bad_rows=True)
    assert [task.row for task in rows.tasks] == ["0", "15", "105", "106", "113", "176", "184"]
    with pytest.raises(SpecError, match="no such folder") as refused:
        read_rows(benchmark, released, "all", skip_bad_rows=False)
    assert "--skip-bad-rows" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"), [(None, "is not a folder"), ("file", "is not a folder"), ("empty", "has no folder of a task")]
)
def test_what_is_no_folder_of_tasks_is_refused_in_a_line(tmp_path, content, said):
    path = tmp_path / "data"
    if content == "file":
        path.write_text("x")
    elif content == "empty":
        path.joinpath("tasks").mkdir(parents=True)
    with pytest.raises(SpecError, match=f"{said}.* Expected the released layout") as refused:
        list(benchmark.read(path, "all"))
    assert "\n" not in str(refused.value) and str(path) in str(refused.value)


def test_a_profile_is_of_generated_data(released):
    with pytest.raises(SpecError, match="leave it out with --data"):
        list(benchmark.read(released, "all", profile="strong"))


# --- bad tasks


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("184/inputs/questions.txt", "q1\n\nq3\n", "line 2 is empty"),
        ("184/inputs/questions.txt", "", "line 1 is empty"),
        ("184/inputs/questions.txt", "q1\nq2\n", "inputs/context has 3, inputs/questions has 2, outputs/answers has 3"),
        ("184/inputs/questions.txt", "q1\nover two\nlines\nq3\n", "a text of several lines needs JSON lines"),
        ("184/inputs/questions.txt", b"q1\n\xff\nq3\n", "not UTF-8"),
        ("184/inputs/questions.jsonl", '"q1"\n{"q": 2}\n"q3"\n', "line 2 is not a JSON string"),
        ("184/inputs/questions.jsonl", '"q1"\n[[[\n"q3"\n', "line 2 is not JSON"),
        ("184/inputs/questions.jsonl", '"q1"\n" "\n"q3"\n', "line 2 is empty"),
        ("176/inputs/images/3.jpg", b"\xff\xd8\xff", "inputs/images has 4, inputs/questions has 3"),
        ("176/inputs/images/1.jpg", b"\xff\xd8\xff", "cannot be decoded"),
        ("176/inputs/images/1.jpg", b"hello", "does not begin as one of these images"),
        ("176/inputs/images/1.jpg", png(50_000, 50_000, bytes(9)), "megapixels"),
        ("176/inputs/images/1.jpg", gif_bomb(), "cannot be used"),
        ("176/inputs/images/1.jpg", text_bomb(), "cannot be used"),
    ],
)
def test_a_bad_file_is_named_in_a_line_and_the_others_are_read(released, name, content, said):
    (released / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert said in problem(released, name.split("/")[0])
    assert len(read(released)[0]) == 6


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("176/inputs/questions.txt", "176/inputs/questions.txt"),
        ("176/outputs/answers.txt", "176/outputs/answers.txt"),
        ("176/inputs/images/1.jpg", "none is called 1.jpg"),
    ],
)
def test_a_missing_file_is_named(released, name, said):
    (released / name).unlink()
    assert said in problem(released, "176")


def test_missing_folders_are_named(released):
    for number in range(3):
        (released / f"176/inputs/images/{number}.jpg").unlink()
    assert "no pictures in it" in problem(released, "176")
    (released / "176/inputs/images").rmdir()
    assert "no such folder" in problem(released, "176")


def test_pictures_outside_the_task_are_not_read(released, tmp_path):
    (tmp_path / "secret.jpg").write_bytes((released / "0/inputs/images/0.jpg").read_bytes())
    (released / "0/inputs/images/0.jpg").unlink()
    (released / "0/inputs/images/0.jpg").symlink_to(tmp_path / "secret.jpg")
    assert "a link that leads out" in problem(released, "0")


def test_a_text_file_of_another_size_than_memory_bears_is_not_read(released, monkeypatch):
    monkeypatch.setattr("lumos_queue.benchmarks.openagi.released_folder.MAX_TEXT_BYTES", 4)
    assert "more than 0 MB" in problem(released, "113")
