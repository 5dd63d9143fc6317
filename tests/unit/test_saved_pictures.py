"""Where pictures are written: in the folder that was named, under names that no row decides."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from lumos_queue.cli import pictures
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Execution
from lumos_queue.reports.pictures import Picture, list_pictures

PICTURE, DIGEST = b"\x89PNG bytes", "ab" * 32


@pytest.fixture
def stored(monkeypatch):
    monkeypatch.setattr("db.journal.artifacts.load_artifact", lambda connection, digest: (PICTURE, "image/png"))
    monkeypatch.setattr(
        "db.journal.artifacts.describe_artifacts",
        lambda connection, digests: dict.fromkeys(digests, ("image/png", len(PICTURE))),
    )


def trajectory(variable: str = "E1", items: object = (DIGEST,), channel: str = "image"):
    value = {"kind": "values", "type": "image", "items": items if items is None else list(items)}
    step = SimpleNamespace(position=2, detail=Action((variable,), "x", ""), result=Execution("ok", "", (value,)))
    inputs = {"channels": [{"name": channel, "kind": "image", "values": [DIGEST]}]}
    return SimpleNamespace(task=SimpleNamespace(inputs=inputs), steps=[step])


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a/b", "..", "", "\0", "é" * 500, "x" * 500, "-rf"])
def test_hostile_names_stay_in_the_folder(tmp_path, stored, name):
    found = list_pictures(None, trajectory(name, channel=name), False)
    assert len(found) == 2
    folder = tmp_path / "inside"
    names = pictures.save_pictures(None, found, folder)
    assert sorted(names) == sorted(one.name for one in folder.iterdir()) and len(names) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["inside"]


def test_a_link_is_not_followed_and_a_file_not_written_over(tmp_path, stored):
    found = list_pictures(None, trajectory(), False)
    outside = tmp_path / "outside"
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "2-E1-000.png").symlink_to(outside)
    with pytest.raises(SpecError, match="is there already"):
        pictures.save_pictures(None, found, folder)
    assert not outside.exists()
    with pytest.raises(SpecError, match="Cannot write"):
        (tmp_path / "file").write_text("x")
        pictures.save_pictures(None, found, tmp_path / "file")


def test_the_picture_of_a_question_comes_first_where_models_see_it(stored):
    one = trajectory()
    one.task.inputs["image"] = DIGEST
    assert [it.of for it in list_pictures(None, one, False)] == ["image", "2-E1"]
    assert [it.of for it in list_pictures(None, one, True)] == ["question", "image", "2-E1"]


def test_a_picture_that_is_not_stored_any_more_is_named_and_not_saved(tmp_path, monkeypatch):
    kept = "cd" * 32
    monkeypatch.setattr("db.journal.artifacts.load_artifact", lambda connection, digest: (PICTURE, "image/png"))
    monkeypatch.setattr(
        "db.journal.artifacts.describe_artifacts", lambda connection, digests: {kept: ("image/jpeg", 3)}
    )
    found = list_pictures(None, trajectory(items=[DIGEST, kept]), False)
    line = list(pictures.describe_pictures(found))[-1]
    assert "abababababab… not stored any more, cdcdcdcdcdcd… image/jpeg 3 bytes" in line
    assert pictures.save_pictures(None, found, tmp_path / "a" / "b") == ["2-E1-001.jpg"]
    assert [one.name for one in (tmp_path / "a" / "b").iterdir()] == ["2-E1-001.jpg"]


def test_a_picture_that_goes_while_others_are_saved_is_left_out(tmp_path, stored, monkeypatch):
    monkeypatch.setattr("db.journal.artifacts.load_artifact", lambda connection, digest: None)
    pictures.save_pictures(None, list_pictures(None, trajectory(), False), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_file_that_appears_meanwhile_is_neither_followed_nor_written_over(tmp_path, stored, monkeypatch):
    monkeypatch.setattr(pictures.os, "listdir", lambda folder: [])
    found = list_pictures(None, trajectory(), False)
    files = [tmp_path / name for name in ("2-E1-000.png", "image-000.png")]
    for file in files:
        file.symlink_to(tmp_path / "outside")
    with pytest.raises(SpecError, match="Cannot write"):
        pictures.save_pictures(None, found, tmp_path)
    assert not (tmp_path / "outside").exists()
    for file in files:
        file.unlink()
        file.write_text("mine")
    with pytest.raises(SpecError, match="Cannot write"):
        pictures.save_pictures(None, found, tmp_path)
    assert {file.read_text() for file in files} == {"mine"}


def test_only_pictures_and_what_functions_made_are_listed(stored):
    one = trajectory()
    made = {"artifacts": [{"name": "notes", "sha256": DIGEST}, "x", {"name": "y"}]}
    text, other = (
        {"kind": kind, "type": name, "items": [DIGEST]} for kind, name in (("values", "text"), ("x", "image"))
    )
    one.steps[0].result = Execution(
        "ok",
        "",
        (
            made,
            text,
            other,
            "no mapping",
            {"artifacts": "x"},
            {"artifacts": 5},
            {"kind": "values", "type": "image", "items": 5},
        ),
    )
    one.task.inputs["channels"].append({"name": "text", "kind": "text", "values": [DIGEST]})
    assert [it.of for it in list_pictures(None, one, False)] == ["image", "2-E1-notes"]
    audio = [Picture("a", 0, DIGEST, "audio/wav", 5)]
    assert next(pictures.describe_pictures(audio)).startswith("files of a: ")
    odd = [replace(audio[0], media_type="application/x-sh")]
    assert [pictures._file_name(it) for it in (*audio, *odd)] == ["a-000.wav", "a-000.bin"]


def test_what_is_no_digest_names_no_picture(stored):
    assert not list_pictures(None, trajectory(items=["../x", None, 3, "AB" * 32]), False)[1:]
    assert len(list_pictures(None, trajectory(items=None), False)) == 1


def test_a_value_is_one_line_however_many_pictures_it_has(stored):
    digests = [f"{number:064x}" for number in range(10)]
    *_, line = pictures.describe_pictures(list_pictures(None, trajectory(items=digests), False))
    assert line.startswith("pictures of 2-E1: 000000000000… image/png 10 bytes, ") and line.endswith(", and 7 more")
