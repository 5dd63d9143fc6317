"""Folders that are no dataset of `datasets`, or a damaged one: one clear line each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.readers.records import read_records


def read(folder: Path) -> list:
    return list(read_records(folder, "a file of questions"))


def save_dataset(folder: Path) -> Path:
    import datasets

    datasets.Dataset.from_dict({"question": ["a", "b"], "answer": [1, 2]}).save_to_disk(folder)
    return folder


def test_a_folder_of_several_splits_lists_them(tmp_path):
    import datasets

    table = datasets.Dataset.from_dict({"question": ["a"]})
    datasets.DatasetDict({"train": table, "test": table}).save_to_disk(tmp_path / "saved")
    with pytest.raises(SpecError, match=f"Name one of them: '{tmp_path}/saved/train', '{tmp_path}/saved/test'"):
        read(tmp_path / "saved")
    assert len(read(tmp_path / "saved" / "test")) == 1


def test_another_folder_is_refused_and_a_file_in_it_named(tmp_path):
    with pytest.raises(
        SpecError, match=r"Cannot read .* it is a folder, and none that `save_to_disk` .*Expected a file"
    ):
        read(tmp_path)
    (tmp_path / "train.jsonl").write_text("{}")
    with pytest.raises(SpecError, match=f"Name one of its files, such as '{tmp_path}/train.jsonl'"):
        read(tmp_path)


@pytest.mark.parametrize(
    "state",
    [
        "[]",
        "{",
        '{"_data_files": []}',
        '{"_data_files": [{"filename": 7}]}',
        '{"_data_files": [{"filename": "../secret.arrow"}]}',
        '{"_data_files": [{"filename": "/etc/hostname"}]}',
        '{"_data_files": [{"filename": "no.arrow"}]}',
        '{"_data_files": [{"filename": "outside.arrow"}]}',
    ],
)
def test_a_description_that_names_other_files_is_refused(tmp_path, state):
    folder = save_dataset(tmp_path / "saved")
    (tmp_path / "secret.arrow").write_bytes((folder / "data-00000-of-00001.arrow").read_bytes())
    (folder / "outside.arrow").symlink_to(tmp_path / "secret.arrow")
    (folder / "state.json").write_text(state)
    with pytest.raises(SpecError) as refused:
        read(folder)
    assert str(refused.value).isprintable()


def test_parts_of_a_dataset_with_other_columns_are_refused(tmp_path):
    import datasets

    folder, other = save_dataset(tmp_path / "saved"), tmp_path / "other"
    datasets.Dataset.from_dict({"question": ["c"], "reply": [3]}).save_to_disk(other)
    (folder / "more.arrow").write_bytes((other / "data-00000-of-00001.arrow").read_bytes())
    names = ("data-00000-of-00001.arrow", "more.arrow")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    with pytest.raises(SpecError, match="its parts have different columns"):
        read(folder)


def test_a_part_of_a_dataset_that_is_cut_off_is_noticed(tmp_path):
    folder = save_dataset(tmp_path / "saved")
    part = folder / "data-00000-of-00001.arrow"
    content = part.read_bytes()
    for end in (8, 16, 100, len(content) - 3):
        part.write_bytes(content[:-end])
        with pytest.raises(SpecError, match=r"damaged or cut off|is not an Arrow stream"):
            read(folder)
