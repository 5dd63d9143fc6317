"""A new file is there whole or not at all; what cannot be written is one line."""

from __future__ import annotations

import errno
import os

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.util.new_file import write_new


def test_a_file_is_written_and_nothing_beside_it(tmp_path):
    assert write_new(tmp_path / "a.html", b"text") == 4
    assert (tmp_path / "a.html").read_bytes() == b"text"
    assert os.listdir(tmp_path) == ["a.html"]


@pytest.mark.parametrize("kind", ["file", "folder", "link to nothing"])
def test_what_is_there_stays_as_it_is(tmp_path, kind):
    path = tmp_path / "there"
    {"file": lambda: path.write_text("old"), "folder": path.mkdir, "link to nothing": lambda: path.symlink_to("x")}[
        kind
    ]()
    with pytest.raises(SpecError, match="exists already"):
        write_new(path, b"new")
    assert os.listdir(tmp_path) == ["there"]
    assert kind != "file" or path.read_text() == "old"


def test_a_file_that_another_process_made_meanwhile_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "a.html"
    synced = os.fsync

    def made_meanwhile(number: int) -> None:
        synced(number)
        path.write_text("theirs")

    monkeypatch.setattr(os, "fsync", made_meanwhile)
    with pytest.raises(SpecError, match="exists already"):
        write_new(path, b"ours")
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["a.html"]


@pytest.mark.parametrize(
    ("problem", "told"), [(errno.ENOSPC, "The disk is full"), (errno.EDQUOT, "The disk is full"), (errno.EIO, "Cannot")]
)
def test_a_disk_that_fails_is_one_line_and_leaves_nothing(tmp_path, monkeypatch, problem, told):
    def fail(number: int) -> None:
        raise OSError(problem, os.strerror(problem))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(SpecError, match=told) as raised:
        write_new(tmp_path / "a.html", b"text")
    assert "\n" not in str(raised.value)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SpecError, match="there is no folder"):
        write_new(tmp_path / "none" / "a.html", b"text")
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecError, match="there is no folder"):
        write_new(tmp_path / "file" / "a.html", b"text")


def test_the_longest_name_is_written(tmp_path):
    name = "x" * 250 + ".html"
    write_new(tmp_path / name, b"text")
    assert os.listdir(tmp_path) == [name]
