"""A-OKVQA and ScienceQA: rows, images and captions as they lie in files, good and bad."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark, open_source
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.captions import read_captions
from lumos_queue.records import Task
from lumos_queue.submission.store import read_rows
from lumos_queue.util.images import read_image
from tests.image_files import gif_bomb, honest

AOK = {
    "split": "val",
    "image_id": 7,
    "question_id": "q1",
    "question": "What is on the mat?",
    "correct_choice_idx": 2,
    "choices": ["dog", "shoe", "cat", "cup"],
    "rationales": ["A cat.", "The cat lies there.", "It sleeps."],
}
SCIENCE = {
    "question": "Which animal is a bird?",
    "choices": ["bat", "owl"],
    "answer": 1,
    "hint": "",
    "image": None,
    "split": "test",
    "subject": "natural science",
}


@pytest.fixture
def aokvqa(tmp_path):
    """Rows of an A-OKVQA file with these changes, read with options."""

    def read(*changes: dict, **options):
        path = tmp_path / "aokvqa.json"
        path.write_text(
            json.dumps([{**AOK, "question_id": f"q{at}", **change} for at, change in enumerate(changes, 1)])
        )
        return list(open_benchmark("aokvqa").read(path, "val", **options))

    return read


@pytest.fixture
def scienceqa(tmp_path):
    """Rows of ScienceQA files with these problems, read with options."""

    def read(problems: dict, split: str = "test", listed: list | None = None, **options):
        (tmp_path / "problems.json").write_text(json.dumps({pid: {**SCIENCE, **one} for pid, one in problems.items()}))
        (tmp_path / "pid_splits.json").write_text(json.dumps({split: list(problems) if listed is None else listed}))
        return list(open_benchmark("scienceqa").read(tmp_path, split, **options))

    return read


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()

    def write(name: str, data: bytes | None = None):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(honest() if data is None else data)
        return path

    write.folder = str(folder)  # type: ignore[attr-defined]
    return write


def test_a_row_of_aokvqa(aokvqa):
    (task,) = aokvqa({})
    assert task.question == "What is on the mat? There're some choices: A. dog, B. shoe, C. cat, D. cup."
    assert (task.row, task.gold["answer"]) == ("q1", "cat")
    assert task.inputs == {"image_id": 7, "image": None, "image_name": "", "caption": ""}
    benchmark = open_benchmark("aokvqa")
    assert [benchmark.score(task, EpisodeResult(answer))[0].value for answer in ("C", "cat", "A", None)] == [1, 1, 0, 0]
    assert benchmark.unjudged == "" and len(benchmark.notes) == 1
    assert "1 of 1 rows have no image without --option images=DIR" in benchmark.notes[0]


@pytest.mark.parametrize("name", ["000000000007.jpg", "000000000007.png", "val2017/000000000007.jpg"])
def test_an_image_is_found_by_its_number_and_named_by_its_digest(aokvqa, pictures, name):
    path = pictures(name)
    first, second = aokvqa({}, {}, images=pictures.folder)
    digest = read_image(path).sha256
    assert first.inputs["image"] == second.inputs["image"] == digest
    assert first.inputs["image_name"] == name
    benchmark = open_benchmark("aokvqa")
    assert dict(benchmark.artifacts) == {digest: path} and benchmark.notes == []


def test_rows_without_their_image_are_counted(aokvqa, pictures):
    pictures("000000000007.jpg")
    rows = aokvqa({}, {"image_id": 8}, images=pictures.folder)
    assert [row.inputs["image"] is None for row in rows] == [False, True]
    (note,) = open_benchmark("aokvqa").notes
    assert note.startswith("1 of 2 rows have no image below") and "--tool vision=caption" in note


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"<svg/>", "does not begin"),
        (honest()[:-30], "cannot be decoded"),
        (gif_bomb(), "megapixels"),
    ],
    ids=["empty", "svg", "cut", "bomb"],
)
def test_a_bad_image_is_a_bad_row_and_its_neighbours_are_read(aokvqa, pictures, data, why):
    pictures("000000000007.jpg", data)
    pictures("000000000008.jpg")
    bad, good = aokvqa({}, {"image_id": 8}, images=pictures.folder)
    assert isinstance(bad, BadRow) and (bad.row, bad.field) == (1, "image") and why in str(bad)
    assert isinstance(good, Task) and good.inputs["image"]


def test_a_link_out_of_the_folder_is_a_bad_row(aokvqa, pictures, tmp_path):
    (tmp_path / "secret.jpg").write_bytes(honest())
    (tmp_path / "pictures" / "000000000007.jpg").symlink_to(tmp_path / "secret.jpg")
    (bad,) = aokvqa({}, images=pictures.folder)
    assert isinstance(bad, BadRow) and "leads out of" in str(bad)


def test_rows_of_the_test_file_cannot_be_judged(aokvqa):
    (task,) = aokvqa({"correct_choice_idx": 0})
    row = {name: value for name, value in AOK.items() if name not in ("correct_choice_idx", "rationales")}
    benchmark = open_benchmark("aokvqa")
    assert task.gold["answer"] == "dog" and benchmark.unjudged == ""
    with pytest.raises(SpecError, match="states no answer: evaluate the val file"):
        benchmark.score(
            Task("aokvqa", "", "q", "Q?", {}, {"answer": "", "choices": row["choices"]}), EpisodeResult("A")
        )


def test_the_real_test_file_can_be_inferred_on_only(shared_data):
    benchmark = open_benchmark("aokvqa")
    rows = list(benchmark.read(shared_data / "aokvqa" / "aokvqa_v1p0_test.json", "test"))
    assert len(rows) == 150 and all(isinstance(row, Task) for row in rows)
    assert benchmark.unjudged.startswith("150 rows of ")


def test_captions_stand_at_the_end_of_the_text_alike_for_conversion_and_benchmark(aokvqa, tmp_path):
    captions = tmp_path / "captions.json"
    captions.write_text(json.dumps({"captions": {"q1": " A cat\nsleeps. ", "q9": "No row's."}}))
    first, second = aokvqa({}, {}, captions=str(captions))
    assert first.question.endswith("D. cup. The image shows the following contents: A cat sleeps.")
    assert first.inputs["caption"] == "A cat sleeps." and second.question.endswith("D. cup.")
    notes = open_benchmark("aokvqa").notes
    assert any(note.startswith("1 of 2 rows have no caption in") for note in notes)
    converted = list(open_source("aokvqa").teaching.read(tmp_path / "aokvqa.json", "train", captions=str(captions)))
    assert [row.question.encode() for row in converted] == [first.question.encode(), second.question.encode()]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "no object 'captions'"),
        ("{}", "no object 'captions'"),
        ('{"captions": [1]}', "no object 'captions'"),
        ('{"captions": {"q1": 1}}', "the caption of row 'q1' is not a text"),
        ('{"captions": {"%s": 1}}' % ("q" * 50), f"the caption of row '{'q' * 40}' is not a text"),
        ("no JSON", "is not a JSON object"),
    ],
)
def test_a_file_that_holds_no_captions_is_refused(tmp_path, text, why):
    path = tmp_path / "captions.json"
    path.write_text(text)
    with pytest.raises(SpecError, match=why):
        read_captions(path)


def test_missing_folders_and_files_are_refused(aokvqa, tmp_path):
    with pytest.raises(SpecError, match="is not a folder"):
        aokvqa({}, images=str(tmp_path / "none"))
    with pytest.raises(SpecError, match="Cannot read"):
        aokvqa({}, captions=str(tmp_path / "none.json"))


@pytest.mark.parametrize("empty", ["", "  "])
def test_a_row_with_an_empty_choice_is_left_out_and_the_others_are_read(aokvqa, tmp_path, empty):
    """A-OKVQA's published val file has such a row: nobody can mend it, and it must not cost the other 1,144."""
    choices = ["dog", empty, "cat", "cup"]
    good, bad, other = aokvqa({}, {"choices": choices}, {})
    assert isinstance(bad, BadRow) and (bad.row, bad.field) == (2, "choices[1]") and "empty" in str(bad)
    assert good.row == "q1" and other.row == "q3"
    for split, teaching in (("val", False), ("train", True)):
        benchmark = open_benchmark("aokvqa")
        rows = read_rows(benchmark, tmp_path / "aokvqa.json", split, skip_bad_rows=False, teaching=teaching)
        assert [task.row for task in rows.tasks] == ["q1", "q3"]
        assert [(one.row, one.field) for one in rows.bad] == [(2, "choices[1]")]


def test_a_row_that_is_bad_otherwise_still_stops_the_file(aokvqa, tmp_path):
    aokvqa({}, {"choices": ["dog", "", "cat", "cup"]}, {"choices": ["dog"]})
    with pytest.raises(SpecError, match=r"1 row \(row 3, field 'choices'.* cannot be read, 1 can\. Fix"):
        read_rows(open_benchmark("aokvqa"), tmp_path / "aokvqa.json", "val", skip_bad_rows=False)


def test_a_file_in_which_every_row_has_an_empty_choice_is_refused(aokvqa, tmp_path):
    aokvqa({"choices": ["dog", "", "cat", "cup"]})
    with pytest.raises(SpecError, match=r"no row can be read: 1 row \(row 1, field 'choices\[1\]'"):
        read_rows(open_benchmark("aokvqa"), tmp_path / "aokvqa.json", "val", skip_bad_rows=False)


def test_the_real_captions_of_scienceqa_are_such_a_file(shared_data):
    assert len(read_captions(shared_data / "scienceqa" / "captions.json")) == 271


def test_a_problem_of_scienceqa(scienceqa):
    (task,) = scienceqa({"7": {"hint": "Birds have\nfeathers."}}, subset="all")
    assert task.question == ("Which animal is a bird? Birds have feathers. There're some choices: A. bat, B. owl.")
    assert (task.row, task.gold) == ("7", {"answer": "owl", "choices": ["bat", "owl"]})
    assert task.inputs == {"image": None, "image_name": "", "caption": ""}
    assert open_benchmark("scienceqa").notes == [], "a problem without an image misses none"


def test_five_choices_can_be_chosen(scienceqa):
    (task,) = scienceqa({"7": {"choices": ["a1", "b1", "c1", "d1", "e1"], "answer": 4}}, subset="all")
    assert task.question.endswith("D. d1, E. e1.")
    assert [open_benchmark("scienceqa").score(task, EpisodeResult(answer))[0].value for answer in ("E", "e1", "D")] == [
        1,
        1,
        0,
    ]


def test_problems_with_an_image_are_the_default(scienceqa, tmp_path):
    image = tmp_path / "images" / "test" / "7" / "image.png"
    image.parent.mkdir(parents=True)
    image.write_bytes(honest())
    problems = {"6": {}, "7": {"image": "image.png"}, "8": {"image": "image.png", "split": "val"}}
    first, second = scienceqa(problems)
    assert (first.row, first.inputs["image_name"]) == ("7", "test/7/image.png")
    assert (second.row, second.inputs["image"]) == ("8", None)
    assert list(open_benchmark("scienceqa").artifacts) == [first.inputs["image"]]
    assert len(scienceqa(problems, subset="all")) == 3
    with pytest.raises(SpecError, match="Choose one of: IMG, all"):
        scienceqa(problems, subset="img")


def test_small_splits_find_the_images_of_the_large_ones(scienceqa, tmp_path):
    image = tmp_path / "images" / "test" / "7" / "image.png"
    image.parent.mkdir(parents=True)
    image.write_bytes(honest())
    (task,) = scienceqa({"7": {"image": "image.png"}}, split="minitest")
    assert task.inputs["image"]


@pytest.mark.parametrize(
    ("pid", "change", "field"),
    [
        ("7", {"choices": ["one"]}, "choices"),
        ("7", {"choices": ["a"] * 6}, "choices"),
        ("7", {"choices": "ab"}, "choices"),
        ("7", {"choices": ["a", " "]}, "choices[1]"),
        ("7", {"answer": 2}, "answer"),
        ("7", {"answer": -1}, "answer"),
        ("7", {"answer": True}, "answer"),
        ("7", {"question": ""}, "question"),
        ("7", {"hint": 3}, "hint"),
        ("7", {"image": 3}, "image"),
        ("7", {"image": "../../../secret.png"}, "image"),
        ("7", {"image": "/etc/passwd"}, "image"),
        ("7", {"image": "image.png", "split": ".."}, "image"),
        ("../7", {"image": "image.png"}, "image"),
        ("7", {"choices": ["a", "\x00"]}, ""),
    ],
)
def test_what_is_wrong_with_a_problem_is_named(scienceqa, tmp_path, pid, change, field):
    (tmp_path / "images").mkdir()
    found, good = scienceqa({pid: change, "9": {}}, subset="all")
    assert isinstance(good, Task)
    if field:
        assert isinstance(found, BadRow) and found.field == field and found.row == 1
    else:
        assert isinstance(found, Task) and found.gold["choices"][1] == "\N{REPLACEMENT CHARACTER}"


def test_splits_that_name_no_problem_are_bad_rows(scienceqa):
    rows = scienceqa({"7": {}}, listed=["7", "8", 9, "7"], subset="all")
    assert isinstance(rows[0], Task) and all(
        isinstance(row, BadRow) and row.row == at + 1 for at, row in enumerate(rows) if at
    )
    assert ["no problem '8'" in str(rows[1]), "expected the id" in str(rows[2]), "occurs twice" in str(rows[3])] == [
        True
    ] * 3


@pytest.mark.parametrize(
    ("problems", "splits"), [("[]", "{}"), ("{}", "{}"), ('{"7": {}}', "[]"), ('{"7": {}}', '{"val": []}'), ("no", "")]
)
def test_files_that_are_not_scienceqas_are_refused(tmp_path, problems, splits):
    (tmp_path / "problems.json").write_text(problems)
    (tmp_path / "pid_splits.json").write_text(splits)
    with pytest.raises(SpecError, match=r"is not ScienceQA's|has no row\. Expected ScienceQA's"):
        list(open_benchmark("scienceqa").read(tmp_path, "test"))


def test_scienceqa_needs_both_files(tmp_path):
    with pytest.raises(SpecError, match=r"problems\.json"):
        list(open_benchmark("scienceqa").read(tmp_path, "test"))
    (tmp_path / "problems.json").write_text('{"7": {}}')
    with pytest.raises(SpecError, match=r"pid_splits\.json"):
        list(open_benchmark("scienceqa").read(tmp_path / "problems.json", "test"))


def test_the_real_records(shared_data):
    scienceqa, read = open_benchmark("scienceqa"), {}
    for split in ("train", "val", "test"):
        read[split] = list(scienceqa.read(shared_data / "scienceqa", split))
    assert {split: len(rows) for split, rows in read.items()} == {"train": 20, "val": 131, "test": 120}
    assert [row.row for row in read["test"] if row.inputs["image"]] == ["23"]
    assert "119 of 120 rows have no image" in scienceqa.notes[0]
    images = {"images": str(shared_data / "aokvqa" / "images")}
    rows = list(open_benchmark("aokvqa").read(shared_data / "aokvqa" / "aokvqa_v1p0_val.json", "val", **images))
    assert [row.inputs["image_id"] for row in rows if row.inputs["image"]] == [39769]
    verdicts = open_benchmark("aokvqa").baselines(rows)
    assert {rule: round(sum(found) / len(found), 3) for rule, found in verdicts.items()} == {
        "most common letter": 0.272,
        "longest choice": 0.26,
        "most like the text": 0.227,
    }
