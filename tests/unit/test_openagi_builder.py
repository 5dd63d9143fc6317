"""`lumos data openagi`: tasks of OpenAGI from small folders in the published layouts, read by the product's reader."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from lumos_queue.benchmarks.openagi.benchmark import benchmark
from lumos_queue.benchmarks.openagi.builder.build import BuildOptions, build
from lumos_queue.benchmarks.openagi.builder.german import TRANSLATION
from lumos_queue.benchmarks.openagi.builder.sets import SETS
from lumos_queue.benchmarks.openagi.tasks import CLOZED, TASKS
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.records import Task
from tests.image_files import gif_bomb, png, text_bomb
from tests.published_sets import COUNT, STORIES, coco_id, jpeg, write_all

SAMPLES = 4
TRANSLATOR = resolve(TRANSLATION, "own:")


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    """The disk need not be synchronized in tests."""
    monkeypatch.setattr(os, "fsync", lambda _number: None)


@pytest.fixture
def sets(tmp_path):
    return write_all(tmp_path / "sets")


def run(sets: Path, out: Path, translator=None, **options):
    """The report of a build, and its remarks."""
    remarks: list[str] = []
    choices = BuildOptions(**{"samples": SAMPLES, **options})
    report = build([sets], out, choices, translator, "needs a translator", remarks.append)
    assert all("\n" not in line for line in (*remarks, *report.missing.values()))
    return report, remarks


def tree(folder: Path) -> dict[str, str]:
    """The digest of each file by its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read(out: Path, samples: int = SAMPLES) -> dict[int, Task]:
    """The tasks that the product's reader reads."""
    rows = benchmark.read(out, "all", samples=str(samples))
    return {int(row.row): row for row in rows if isinstance(row, Task)}


def test_all_tasks_are_written_and_read_by_the_reader_of_the_released_layout(sets, tmp_path):
    report, remarks = run(sets, tmp_path / "out", TRANSLATOR)
    assert set(report.tasks) == set(range(185)) and not report.missing
    tasks = read(tmp_path / "out")
    assert set(tasks) == set(range(185)) and benchmark.notes == []
    assert all(len(channel["values"]) == SAMPLES for task in tasks.values() for channel in task.inputs["channels"])
    assert all(len(task.gold["references"]) in (0, SAMPLES) for task in tasks.values())
    assert tasks[105].gold["captions"] == tasks[106].gold["captions"] == tasks[106].inputs["channels"][0]["values"]
    assert sum("samples" in line for line in remarks) == 7
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert set(manifest["sources"]) == set(SETS) and manifest["translator"]["licence"] == "MIT"
    assert all(source["licence"] and source["files"] for source in manifest["sources"].values())
    assert str(tmp_path) not in json.dumps(manifest)


def test_two_builds_are_equal_and_the_seed_decides(sets, tmp_path):
    trees = []
    for name, options in (("a", {}), ("b", {}), ("c", {"seed": 1}), ("d", {"first": True})):
        moved = tmp_path / f"sets-{name}"  # the manifest does not depend on the path
        sets.rename(moved)
        run(moved, tmp_path / name, TRANSLATOR, **options)
        trees.append(tree(tmp_path / name))
        moved.rename(sets)
    assert trees[0] == trees[1] and len(trees[0]) > 900
    assert trees[0] != trees[2] != trees[3] != trees[0]
    assert [path for path in (tmp_path / "a").iterdir() if path.name.startswith(".")] == []


def test_references_and_inputs_belong_together(sets, tmp_path):
    run(sets, tmp_path / "out", first=True, samples=2)
    tasks = read(tmp_path / "out", 2)

    def texts(task: int) -> list[list[str]]:
        return [channel["values"] for channel in tasks[task].inputs["channels"] if channel["kind"] == "text"]

    assert tasks[19].gold["references"] == ["tench, Tinca tinca", "goldfish, Carassius auratus"]
    assert tasks[18].gold["references"] == [f"A dog near a car {number} turn 0." for number in range(2)]
    assert tasks[20].gold["references"] == ["dog, car", "dog, car, dog"], "the first picture has no instance"
    assert tasks[106].gold["captions"] == tasks[18].gold["references"]
    assert tasks[115].gold["references"][0].splitlines()[1] == "The film is dull."
    assert texts(115)[0][0].endswith("The film was dull . It rained .")
    assert tasks[116].gold["references"] == ["negative", "positive"] and texts(116)[0][1] == "it 's a good film 1"
    assert tasks[175].gold["references"] == ["word 0", "word 1"]
    assert texts(175) == [["what is written on sign 0?", "what is written on sign 1?"]]
    assert tasks[184].gold["references"] == ["Paris", "Paris"]
    assert texts(182)[0][0] == "Anna 0 was born in Paris.\nShe was a painter."


def test_clozed_texts_have_one_masked_word(sets, tmp_path):
    run(sets, tmp_path / "out")
    tasks = read(tmp_path / "out")
    plain, masked = (tasks[number].inputs["channels"][0]["values"] for number in (106, 105))
    for text, masked_text in zip(plain, masked, strict=True):
        words, masked_words = text.split(" "), masked_text.split(" ")
        differences = [pair for pair in zip(words, masked_words, strict=True) if pair[0] != pair[1]]
        assert len(differences) == 1 and differences[0][1] == "[MASK]"
    for task in (spec for spec in TASKS if spec.id in tasks):
        for channel, spec in zip(tasks[task.id].inputs["channels"], task.channels, strict=True):
            if channel["kind"] == "text":
                assert [text.count("[MASK]") for text in channel["values"]] == [CLOZED in spec.augmentations] * SAMPLES


# --- pictures


def set_of(*names: str) -> int:
    """The image-to-image task with these augmentations."""
    return next(task.id for task in TASKS[:15] if task.channels[0].augmentations == names)


def test_each_picture_is_augmented_as_released_and_compressed_once(sets, tmp_path):
    run(sets, tmp_path / "out", first=True, samples=1)
    original = Image.open(io.BytesIO(jpeg(0))).convert("RGB")

    def save(image: Image.Image, quality: int = 75) -> bytes:
        file = io.BytesIO()
        image.save(file, "JPEG", quality=quality)
        return file.getvalue()

    gray = original.convert("L").convert("RGB")
    blurred = gray.filter(ImageFilter.GaussianBlur(1))
    expectations = {
        set_of("grayscale"): save(gray),
        set_of("blurry", "grayscale"): save(blurred),
        set_of("low-resolutioned"): save(original, 30),
        set_of("low-resolutioned", "blurry", "grayscale"): save(blurred, 30),
    }
    for task, expectation in expectations.items():
        assert (tmp_path / f"out/{task}/inputs/images/0.jpg").read_bytes() == expectation
        assert (tmp_path / f"out/{task}/outputs/images/0.jpg").read_bytes() == save(original)
    noisy = Image.open(tmp_path / f"out/{set_of('noisy')}/inputs/images/0.jpg")
    clean = np.asarray(original) / 255
    relative = (np.asarray(noisy) / 255 - clean)[clean > 0.5] / clean[clean > 0.5]
    assert 0.02 < relative.std() < 0.12, "noise of variance 0.005 is multiplied, and JPEG and the clip at 1 change it"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (jpeg(0)[:300], "cannot be decoded"),
        (b"hello", "does not begin as one of these images"),
        (b"", "it is empty"),
        (png(50_000, 50_000, bytes(9)), "megapixels"),
        (png(2_900, 2_900, bytes(2_900 * (2_900 * 3 + 1))), "more than 8 megapixels"),
        (gif_bomb(), "cannot be used|megapixels|decoded"),
        (text_bomb(), "decoded|memory"),
        (None, "its picture is missing"),
    ],
)
def test_a_damaged_picture_is_left_out_and_the_next_takes_its_place(content, reason, sets, tmp_path):
    path = sets / f"coco/val2017/{coco_id(2):012}.jpg"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    shutil.rmtree(sets / "imagenet")
    shutil.rmtree(sets / "textvqa")
    report, remarks = run(sets, tmp_path / "out", first=True)
    samples = report.sources["COCO captions val2017"]["samples"]
    assert [sample["id"] for sample in samples] == [str(coco_id(number)) for number in (0, 1, 3, 4)]
    (problem,) = report.sources["COCO captions val2017"]["samples_left_out"].items()
    assert problem[0] == str(coco_id(2)) and str(tmp_path) not in problem[1]
    assert any(part in problem[1] for part in reason.split("|")), problem[1]
    assert any(line.startswith("COCO captions val2017: 4 of 6 samples; 1 left out") for line in remarks)
    assert 18 in read(tmp_path / "out")


def test_a_link_that_leads_out_of_the_folder_is_not_read(sets, tmp_path):
    (tmp_path / "secret.jpg").write_bytes(jpeg(1))
    path = sets / f"coco/val2017/{coco_id(0):012}.jpg"
    path.unlink()
    path.symlink_to(tmp_path / "secret.jpg")
    report, _ = run(sets, tmp_path / "out", first=True)
    assert "leads out" in report.sources["COCO captions val2017"]["samples_left_out"][str(coco_id(0))]


# --- missing and wrong data


def tasks_from(source: str) -> set[int]:
    return {task.id for task in TASKS if task.goal.source == source}


def english() -> set[int]:
    return {task.id for task in TASKS if task.language != "de"}


def test_a_missing_data_set_is_listed_by_task_and_the_rest_is_written(sets, tmp_path):
    run(sets, tmp_path / "whole")
    shutil.rmtree(sets / "squad")
    report, remarks = run(sets, tmp_path / "out")
    assert set(report.tasks) == english() - tasks_from("SQuAD val")
    assert {task for task in report.missing if "dev-v1.1.json" in report.missing[task]} == tasks_from("SQuAD val")
    assert [line for line in remarks if "missing" in line] == [
        "SQuAD val: missing: no dev-v1.1.json (expected dev-v1.1.json)"
    ]
    whole, rest = tree(tmp_path / "whole"), tree(tmp_path / "out")
    assert all(whole[name] == digest for name, digest in rest.items() if name != "manifest.json")
    assert json.loads((tmp_path / "out/manifest.json").read_text())["missing_sources"].keys() == {"SQuAD val"}


def test_without_a_translator_only_german_tasks_are_missing(sets, tmp_path):
    report, _ = run(sets, tmp_path / "out")
    assert set(report.tasks) == english()
    assert set(report.missing.values()) == {"German references: needs a translator"}


def test_without_pictures_the_texts_of_their_annotations_are_used(sets, tmp_path):
    shutil.rmtree(sets / "coco/val2017")
    report, _ = run(sets, tmp_path / "out", TRANSLATOR)
    assert {105, 106, 108, 113} <= set(report.tasks)
    assert all("no picture of the annotations" in report.missing[task] for task in (15, 17, 18, 20))
    assert set(read(tmp_path / "out")) == set(report.tasks)


def test_fewer_samples_than_wanted_are_a_remark(sets, tmp_path):
    report, remarks = run(sets, tmp_path / "out", samples=50)
    assert len(report.sources["SST-2 val"]["samples"]) == COUNT
    assert "SST-2 val: 6 of 6 samples; 50 were requested" in remarks


@pytest.mark.parametrize(
    ("name", "content", "source", "problem"),
    [
        ("coco/annotations/captions_val2017.json", "no json", "COCO captions val2017", "is not JSON"),
        ("coco/annotations/captions_val2017.json", "[1, 2]", "COCO captions val2017", "expected an object"),
        ("coco/annotations/captions_val2017.json", "{}", "COCO captions val2017", "images: missing"),
        ("coco/annotations/captions_val2017.json", '{"images": [], "annotations": []}', "COCO captions val2017", "no "),
        (
            "coco/annotations/instances_val2017.json",
            '{"images": [{"id": 1, "file_name": "1.jpg"}], "annotations": [{"image_id": 1, "category_id": 7}], '
            '"categories": [{"id": 3, "name": "car"}]}',
            "COCO instances val2017",
            "no category has this number",
        ),
        ("coco/annotations/instances_val2017.json", "[" * 5000, "COCO instances val2017", "is not JSON"),
        ("textvqa/TextVQA_0.5.1_val.json", '{"data": [{"question": "what?"}]}', "TextVQA val", "no question with"),
        ("textvqa/TextVQA_0.5.1_val.json", b"\xff\xfe{}", "TextVQA val", "not"),
        ("squad/dev-v1.1.json", '{"data": [{"paragraphs": 3}]}', "SQuAD val", "expected a list"),
        ("squad/dev-v1.1.json", '{"data": []}', "SQuAD val", "no question with an answer"),
        ("glue/SST-2/dev.tsv", "index\tsentence\n0\tgood\n", "SST-2 val", "expected the columns"),
        ("glue/SST-2/dev.tsv", "sentence\tlabel\ngood\t7\n", "SST-2 val", "no sentence with a label"),
        ("glue/SST-2/dev.tsv", b"sentence\tlabel\n\xff\t1\n", "SST-2 val", "not UTF-8"),
        ("cnn-dailymail/url_lists/all_test.txt", "http://other\n", "CNN/DailyMail test", "no story"),
        ("LOC_synset_mapping.txt", "tench\n", "ImageNet-1K val", "line 1: expected a line like"),
        ("LOC_synset_mapping.txt", "n99999999 thing\n", "ImageNet-1K val", "has no name"),
    ],
)
def test_a_wrong_annotation_file_is_named_in_a_line(name, content, source, problem, sets, tmp_path):
    (sets / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    report, remarks = run(sets, tmp_path / "out", samples=1)
    assert set(report.tasks) == english() - tasks_from(source)
    (line,) = [line for line in remarks if line.startswith(f"{source}: missing: ")]
    assert problem in line and len(line) < 500 and str(tmp_path) not in line


def test_bad_rows_are_counted_and_left_out(sets, tmp_path):
    path = sets / "squad/dev-v1.1.json"
    document = json.loads(path.read_text())
    questions = [paragraph["qas"][0] for paragraph in document["data"][0]["paragraphs"]]
    questions[0]["answers"], questions[1]["question"], questions[2]["answers"] = [], " ", [{"text": 3}]
    questions[3]["question"] = "a" * 70_000
    path.write_text(json.dumps(document))
    report, remarks = run(sets, tmp_path / "out", first=True)
    assert [sample["id"] for sample in report.sources["SQuAD val"]["samples"]] == ["5733be4", "5733be5"]
    assert sum(report.sources["SQuAD val"]["rows_left_out"].values()) == 3
    assert "more than 60,000 characters" in report.sources["SQuAD val"]["samples_left_out"]["5733be3"]
    assert any("3 rows are no samples" in line for line in remarks)


def test_a_failed_translation_leaves_out_the_german_tasks_of_its_source(sets, tmp_path, monkeypatch):
    from lumos_queue.benchmarks.openagi.builder import german
    from lumos_queue.experts.problems import Problem

    async def fail(_facts, texts):
        return [Problem("died", "the process ended") if text == "Paris" else b"Wort" for text in texts]

    monkeypatch.setattr(german, "_run", fail)
    report, _ = run(sets, tmp_path / "out", TRANSLATOR)
    assert set(report.missing) == tasks_from("SQuAD val") - english()
    assert set(report.missing.values()) == {
        "German references: 4 references have no translation; the first: died: the process ended"
    }


def test_nothing_is_written_where_no_data_set_is(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SpecError, match=r"None of the data sets can be used in .*ImageNet-1K val: no picture") as error:
        run(tmp_path / "empty", tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


def test_an_existing_folder_is_not_overwritten(sets, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(SpecError, match="exists already: name a new folder with --out"):
        run(sets, tmp_path / "out")


def test_stories_have_the_text_of_version_3(sets, tmp_path):
    run(sets, tmp_path / "out", first=True, samples=COUNT)
    references = read(tmp_path / "out", COUNT)[115].gold["references"]
    assert sorted(references) == sorted(f"{first} .\n{second}" for _, _, (first, second) in STORIES)
