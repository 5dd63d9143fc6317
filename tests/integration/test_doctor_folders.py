"""`lumos doctor` writes to the folders it reports on."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress

from lumos_queue.cli.doctor_folders import find_folders, probe_folder
from lumos_queue.settings import Settings
from tests.faults.disks import small_disk


def findings(lumos) -> dict[str, dict]:
    return {one["what"]: one for one in json.loads(lumos("doctor", "--json").out)["findings"]}


def test_folders_that_can_be_written_are_as_they_were(lumos, tmp_path):
    assert findings(lumos)["LUMOS_HOME"]["fine"] is True  # it is not there yet: its parent is
    (lumos.home / "builds").mkdir(parents=True)
    found = findings(lumos)
    assert found["LUMOS_HOME"]["fine"] is found["folder of builds"]["fine"] is found["temporary files"]["fine"] is True
    assert [file.name for file in lumos.home.iterdir()] == ["builds"] and not any((lumos.home / "builds").iterdir())


def test_a_full_disk_is_a_failed_check(lumos):
    with small_disk(1) as disk:
        with suppress(OSError):
            (disk / "fill").write_bytes(b"x" * 2**21)
        lumos.set(LUMOS_HOME=disk)
        ran, found = lumos("doctor"), findings(lumos)["LUMOS_HOME"]
        assert ran.code == 1 and found["fine"] is False
        assert found["found"] == f"the disk of {disk} is full: make room there, or set LUMOS_HOME"
        assert [file.name for file in disk.iterdir()] == ["fill"]


def test_a_database_on_a_full_disk_is_named(lumos):
    with small_disk(1) as disk:
        with suppress(OSError):
            (disk / "fill").write_bytes(b"x" * 2**21)
        lumos.set(LUMOS_DATABASE_URL=f"sqlite:///{disk / 'lumos.db'}")
        assert findings(lumos)["database folder"]["fine"] is False


def test_a_read_only_disk_is_a_failed_check():
    with small_disk(1) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert probe_folder(disk) == f"{disk} cannot be written (Read-only file system): make it writable"


def test_a_home_that_is_a_file_is_a_failed_check(lumos):
    lumos.home.write_text("")
    assert findings(lumos)["LUMOS_HOME"]["found"] == f"{lumos.home} is no folder: set LUMOS_HOME to one"


def test_a_folder_is_checked_once(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    settings = Settings(home=tmp_path, database_url=f"sqlite:///{tmp_path / 'lumos.db'}")
    assert find_folders(settings) == {"LUMOS_HOME": tmp_path}
