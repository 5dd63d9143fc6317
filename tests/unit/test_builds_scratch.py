"""The hidden folders in which builds are made, when the process that makes one is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lumos_queue.builds.folder import load_existing_build, open_staging_folder
from lumos_queue.errors import SpecError

_HELD = """
import sys, time
from pathlib import Path
from lumos_queue.builds.folder import open_staging_folder
with open_staging_folder(Path(sys.argv[1])) as scratch:
    (scratch / "rows.jsonl").write_text("half")
    print(scratch.name, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def held():
    """Starts a process that is making a build; returns it and the name of its hidden folder."""
    started: list[subprocess.Popen] = []

    def start(target: Path) -> tuple[subprocess.Popen, str]:
        process = subprocess.Popen([sys.executable, "-c", _HELD, str(target)], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_a_killed_build_left_goes_with_the_next_one_of_its_name(tmp_path, held):
    process, left = held(tmp_path / "one")
    other, busy = held(tmp_path / "one.two")
    process.send_signal(signal.SIGKILL)
    process.wait()
    (tmp_path / ".one.notes").mkdir()
    (tmp_path / ".one.abcdefgh").mkdir()  # named like one of ours, but not made by us
    kept = {".one.notes", ".one.abcdefgh", busy}
    assert names(tmp_path) == kept | {left}
    with open_staging_folder(tmp_path / "one.two") as scratch:
        assert names(tmp_path) == kept | {left, scratch.name}  # another name: left alone
    with open_staging_folder(tmp_path / "one") as scratch:
        assert names(tmp_path) == kept | {scratch.name}
    assert names(tmp_path) == kept
    assert other.poll() is None


def test_a_build_that_is_being_made_is_left_alone(tmp_path, held):
    _, busy = held(tmp_path / "one")
    with open_staging_folder(tmp_path / "one") as scratch:
        assert names(tmp_path) == {busy, scratch.name}
    assert (tmp_path / busy / "rows.jsonl").read_text() == "half"


def test_folders_that_were_made_for_nothing_go_again(tmp_path):
    with pytest.raises(ZeroDivisionError), open_staging_folder(tmp_path / "new" / "sub" / "one"):
        raise ZeroDivisionError
    assert names(tmp_path) == set()
    with pytest.raises(ZeroDivisionError), open_staging_folder(tmp_path / "new" / "sub" / "one"):
        (tmp_path / "new" / "mine.txt").write_text("mine")
        raise ZeroDivisionError
    assert names(tmp_path / "new") == {"mine.txt"}


def test_a_folder_below_a_file_is_named(tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(SpecError, match=r"mine' is a file, not a folder: .* with --out\."):
        load_existing_build(tmp_path / "mine" / "sub" / "one", {})
