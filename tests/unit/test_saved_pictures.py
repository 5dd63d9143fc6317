"""Where pictures are written: in the folder that was named, under names that no row decides."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lumos_queue.cli import pictures
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Execution

PICTURE, DIGEST = b"\x89PNG bytes", "ab" * 32


@pytest.fixture
def stored(monkeypatch):
    monkeypatch.setattr("db.artifacts.load_artifact", lambda connection, digest: (PICTURE, "image/png"))
    monkeypatch.setattr("db.artifacts.describe_artifacts",
                        lambda connection, digests: dict.fromkeys(digests, ("image/png", len(PICTURE))))  # fmt: skip


def trajectory(variable: str = "E1", items: object = (DIGEST,), channel: str = "image"):
    value = {"kind": "values", "type": "image", "items": items if items is None else list(items)}
    step = SimpleNamespace(position=2, detail=Action((variable,), "x", ""), result=Execution("ok", "", (value,)))
    inputs = {"channels": [{"name": channel, "kind": "image", "values": [DIGEST]}]}
    return SimpleNamespace(task=SimpleNamespace(inputs=inputs), steps=[step])


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a/b", "..", "", "\0", "é" * 500, "-rf"])
def test_hostile_names_stay_in_the_folder(tmp_path, stored, name):
    found = pictures.list_pictures(None, trajectory(name, channel=name), False)
    assert len(found) == 2
    folder = tmp_path / "inside"
    names = pictures.save_pictures(None, found, folder)
    assert sorted(names) == sorted(one.name for one in folder.iterdir()) and len(names) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["inside"]


def test_a_link_is_not_followed_and_a_file_not_written_over(tmp_path, stored):
    found = pictures.list_pictures(None, trajectory(), False)
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


def test_what_is_no_digest_names_no_picture(stored):
    assert not pictures.list_pictures(None, trajectory(items=["../x", None, 3, "AB" * 32]), False)[1:]
    assert len(pictures.list_pictures(None, trajectory(items=None), False)) == 1


def test_a_value_is_one_line_however_many_pictures_it_has(stored):
    digests = [f"{number:064x}" for number in range(10)]
    *_, line = pictures.describe_pictures(pictures.list_pictures(None, trajectory(items=digests), False))
    assert line.startswith("pictures of 2-E1: 000000000000… image/png 10 bytes, ") and line.endswith(", and 7 more")
