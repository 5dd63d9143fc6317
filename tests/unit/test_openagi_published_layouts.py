"""The published layouts of each data set, also packed in archives, and archives that only claim to be."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from lumos_queue.benchmarks.openagi.builder.files import FileIndex, UnusableSet
from lumos_queue.benchmarks.openagi.builder.selection import select
from lumos_queue.benchmarks.openagi.builder.sets import SETS
from lumos_queue.errors import SpecError
from tests.image_files import pack_zeros
from tests.published_sets import (
    CLASSES,
    COUNT,
    class_of,
    imagenet_name,
    jpeg,
    pack_tar,
    pack_zip,
    write_all,
    write_cnn,
    write_coco,
    write_imagenet,
    write_sst2,
    write_textvqa,
)

IMAGENET, CNN, SST2 = "ImageNet-1K val", "CNN/DailyMail test", "SST-2 val"


@pytest.fixture
def scratch(tmp_path):
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def open_index(scratch: Path, *folders: Path) -> FileIndex:
    index = FileIndex(scratch)
    for folder in folders:
        index.add(folder)
    return index


def read(source: str, scratch: Path, *folders: Path):
    return SETS[source].read(open_index(scratch, *folders))


@pytest.mark.parametrize("layout", ["torchvision", "kaggle", "hub", "devkit"])
def test_imagenet_has_the_same_classes_in_each_layout(layout, tmp_path, scratch):
    write_imagenet(tmp_path / "sets", layout)
    published = read(IMAGENET, scratch, tmp_path / "sets")
    assert [(sample.id, sample.target) for sample in published.samples] == [
        (imagenet_name(number), CLASSES[class_of(number)][1]) for number in range(COUNT)
    ]
    assert all(sample.picture is not None for sample in published.samples)


def test_a_set_may_be_in_several_folders(tmp_path, scratch):
    write_coco(tmp_path / "sets")
    folders = tmp_path / "sets/coco/val2017", tmp_path / "sets/coco/annotations"
    published = read("COCO captions val2017", scratch, *folders)
    assert len(published.samples) == COUNT and not published.pictures_problem


def test_training_data_are_not_read(tmp_path, scratch):
    write_imagenet(tmp_path / "sets")
    (tmp_path / "sets/imagenet/train").mkdir()
    (tmp_path / "sets/imagenet/train/ILSVRC2012_val_00009999_n01440764.JPEG").write_bytes(jpeg(0))
    assert len(read(IMAGENET, scratch, tmp_path / "sets").samples) == COUNT


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"ILSVRC2012_validation_ground_truth.txt": "1\n2\nx\n"}, "line 3: expected the number of a class"),
        ({"ILSVRC2012_validation_ground_truth.txt": "1\n1001\n"}, "line 2: expected the number of a class"),
        ({"ILSVRC2012_validation_ground_truth.txt": "1\n" + "1" * 5000}, "line 2: expected the number of a class"),
        ({"meta.mat": b"no matlab file"}, "'meta.mat' cannot be read"),
        ({"meta.mat": b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + pack_zeros(50)}, "'meta.mat' cannot be read"),
        ({"ILSVRC2012_validation_ground_truth.txt": None}, "nothing lists their classes"),
        ({"meta.mat": None}, "no names of classes"),
    ],
)
def test_a_wrong_development_kit_is_named_in_a_line(changes, problem, tmp_path, scratch):
    write_imagenet(tmp_path / "sets", "devkit")
    for name, content in changes.items():
        path = tmp_path / "sets/ILSVRC2012_devkit_t12/data" / name
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UnusableSet, match=problem) as error:
        read(IMAGENET, scratch, tmp_path / "sets")
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


def test_a_wrong_line_of_kaggles_list_is_named(tmp_path, scratch):
    write_imagenet(tmp_path / "sets", "kaggle")
    (tmp_path / "sets/LOC_val_solution.csv").write_text("ImageId,PredictionString\nILSVRC2012_val_00000001,tench\n")
    with pytest.raises(UnusableSet, match="line 2: expected a picture and its class"):
        read(IMAGENET, scratch, tmp_path / "sets")


def test_a_name_of_kaggles_list_that_is_too_long_ends_the_set_only(tmp_path, scratch):
    write_imagenet(tmp_path / "sets", "kaggle")
    (tmp_path / "sets/LOC_val_solution.csv").write_text(f"ImageId,PredictionString\n{'x' * 200_000},n01440764\n")
    with pytest.raises(UnusableSet, match="line 2: expected a picture and its class"):
        read(IMAGENET, scratch, tmp_path / "sets")


# --- tables


def write_table(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif path.suffix == ".csv":
        import csv

        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize("name", ["3.0.0/test-00000-of-00001.parquet", "test.csv", "test.jsonl"])
def test_cnn_dailymail_may_be_a_table(name, tmp_path, scratch):
    write_cnn(tmp_path / "sets")
    stories = read(CNN, scratch, tmp_path / "sets").samples
    rows = [{"article": s.texts["text"], "highlights": s.target, "id": s.id} for s in stories]
    write_table(tmp_path / "table" / name, rows)
    assert read(CNN, scratch, tmp_path / "table").samples == stories


@pytest.mark.parametrize("name", ["data/validation-00000-of-00001.parquet", "validation.csv", "validation.jsonl"])
def test_sst2_may_be_a_table(name, tmp_path, scratch):
    write_sst2(tmp_path / "sets")
    sentences = read(SST2, scratch, tmp_path / "sets").samples
    labels = {"negative": 0, "positive": 1}
    rows = [{"idx": int(s.id), "sentence": f"{s.texts['text']} ", "label": labels[s.target]} for s in sentences]
    write_table(tmp_path / "table" / name, rows)
    write_table(tmp_path / "table/other/validation.csv", [{"question": "a", "answer": "b"}])
    assert read(SST2, scratch, tmp_path / "table").samples == sentences


# --- archives


def test_archives_have_the_same_samples_as_their_folders(tmp_path, scratch):
    sets = write_all(tmp_path / "sets")
    folders = {name: [(s.id, s.target) for s in read(name, scratch, sets).samples] for name in SETS}
    pack_zip(sets / "coco/val2017", sets / "coco/val2017.zip")
    pack_zip(sets / "coco/annotations", sets / "coco/annotations_trainval2017.zip")
    pack_zip(sets / "textvqa/train_images", sets / "train_val_images.zip")
    pack_zip(sets / "glue/SST-2", sets / "glue/SST-2.zip")
    shutil.rmtree(sets / "imagenet")
    write_imagenet(sets, "devkit")
    pack_tar(sets / "ILSVRC2012_img_val", sets / "ILSVRC2012_img_val.tar")
    index = open_index(scratch, sets)
    assert {name: [(s.id, s.target) for s in SETS[name].read(index).samples] for name in SETS} == folders
    picture_folder = tmp_path / "pictures"
    picture_folder.mkdir()
    selection = select(IMAGENET, SETS[IMAGENET].read(index), picture_folder, COUNT, 0, True)
    assert len(selection.samples) == len(selection.pictures) == COUNT and not selection.excluded
    index.close()


def test_a_person_may_name_an_archive(tmp_path, scratch):
    write_sst2(tmp_path / "sets")
    pack_zip(tmp_path / "sets/glue/SST-2", tmp_path / "mine.zip")
    assert len(read(SST2, scratch, tmp_path / "mine.zip").samples) == COUNT


@pytest.mark.parametrize("name", ["sets.zip", "sets.tar"])
@pytest.mark.parametrize("content", [b"", b"hello" * 300, b"PK\x03\x04" + bytes(2_000)])
def test_what_is_no_archive_is_refused_in_a_line(name, content, tmp_path, scratch):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SpecError, match="is not a whole archive") as error:
        open_index(scratch, tmp_path / name)
    assert "\n" not in str(error.value)


def test_a_truncated_archive_is_refused(tmp_path, scratch):
    write_textvqa(tmp_path / "sets")
    pack_zip(tmp_path / "sets/textvqa/train_images", tmp_path / "train_val_images.zip")
    data = (tmp_path / "train_val_images.zip").read_bytes()
    (tmp_path / "train_val_images.zip").write_bytes(data[: len(data) // 2])
    with pytest.raises(SpecError, match="is not a whole archive"):
        open_index(scratch, tmp_path / "train_val_images.zip")


def test_a_damaged_member_is_a_damaged_picture(tmp_path, scratch):
    write_textvqa(tmp_path / "sets")
    archive = tmp_path / "sets/train_val_images.zip"
    pack_zip(tmp_path / "sets/textvqa/train_images", archive)
    with zipfile.ZipFile(archive) as file:
        offset = file.infolist()[0].header_offset + 120
    data = bytearray(archive.read_bytes())
    data[offset : offset + 40] = b"\xff" * 40
    archive.write_bytes(data)
    picture_folder = tmp_path / "pictures"
    picture_folder.mkdir()
    published = read("TextVQA val", scratch, tmp_path / "sets")
    selection = select("TextVQA val", published, picture_folder, COUNT, 0, True)
    assert len(selection.samples) == COUNT - 1
    (problem,) = selection.excluded.values()
    assert "cannot be unpacked" in problem and "\n" not in problem


def test_a_member_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path, scratch):
    write_textvqa(tmp_path / "sets")
    path = tmp_path / "sets/textvqa/train_images/0000000000000000.jpg"
    path.write_bytes(bytes(50 << 20))
    pack_zip(tmp_path / "sets/textvqa/train_images", tmp_path / "sets/train_val_images.zip")
    assert (tmp_path / "sets/train_val_images.zip").stat().st_size < 1 << 20
    picture_folder = tmp_path / "pictures"
    picture_folder.mkdir()
    published = read("TextVQA val", scratch, tmp_path / "sets")
    selection = select("TextVQA val", published, picture_folder, 1, 0, True)
    assert list(selection.excluded.values()) == ["'train_images/0000000000000000.jpg' unpacks to more than 3 MB"]
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 2 << 20


def test_names_in_archives_lead_nowhere(tmp_path, scratch):
    """Members are unpacked under new names, and links are not members."""
    outside = tmp_path / "outside.json"
    outside.write_text('{"data": []}')
    with tarfile.open(tmp_path / "sets.tar", "w") as archive:
        link = tarfile.TarInfo("dev-v1.1.json")
        link.type, link.linkname = tarfile.SYMTYPE, str(outside)
        archive.addfile(link)
        member = tarfile.TarInfo("../../SST-2/dev.tsv")
        content = b"sentence\tlabel\ngood film\t1\n"
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    index = open_index(scratch, tmp_path / "sets.tar")
    assert len(SETS[SST2].read(index).samples) == 1
    with pytest.raises(UnusableSet, match=r"no dev-v1\.1\.json"):
        SETS["SQuAD val"].read(index)
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {tmp_path, scratch}


def test_other_packed_files_are_refused_with_a_remedy(tmp_path, scratch):
    (tmp_path / "cnn_stories.tgz").write_bytes(b"\x1f\x8b")
    with pytest.raises(SpecError, match="unpack it, and name the folder with --from"):
        open_index(scratch, tmp_path / "cnn_stories.tgz")
    with pytest.raises(SpecError, match="does not exist"):
        open_index(scratch, tmp_path / "nothing")


def test_too_many_files_are_refused(tmp_path, scratch, monkeypatch):
    monkeypatch.setattr("lumos_queue.benchmarks.openagi.builder.files.MAX_FILES", 10)
    with pytest.raises(SpecError, match="more than 10 files: name the folders of the data sets"):
        open_index(scratch, write_all(tmp_path / "sets"))


def test_names_of_any_form_are_written_to_the_manifest_and_to_messages(tmp_path, scratch):
    """A name that is not UTF-8, a long name, and an id of megabytes."""
    folder = os.path.join(os.fsencode(tmp_path), b"sets", b"\xff\x00a"[:1] + b"a" * 200)
    os.makedirs(folder)
    question = {"id": "i" * 10**6, "question": "where?", "answers": []}
    content = {"data": [{"paragraphs": [{"context": "Paris", "qas": [question]}]}]}
    with open(os.path.join(folder, b"dev-v1.1.json"), "w") as file:
        json.dump(content, file)
    with pytest.raises(UnusableSet, match="has no question with an answer") as error:
        read("SQuAD val", scratch, tmp_path / "sets")
    assert len(str(error.value)) < 200 and str(error.value).encode()
    question["answers"] = [{"text": "Paris", "answer_start": 0}]
    with open(os.path.join(folder, b"dev-v1.1.json"), "w") as file:
        json.dump(content, file)
    published = read("SQuAD val", scratch, tmp_path / "sets")
    assert len(published.samples[0].id) <= 101 and published.files[0].name.encode()
