"""Standard output on a full disk, and a reader that has ended: one line or none, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stored_rows import make_tables

COMMAND = (sys.executable, "-P", "-m", "lumos_queue.cli.main")
LOST = "lumos: Cannot write the output: No space left on device. Make room, or send the output to another file.\n"


def run(home: Path, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LUMOS_HOME": str(home), "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    environment.pop("PYTHONUNBUFFERED", None)  # buffered output fails at the end of the process, too
    return subprocess.run([*COMMAND, *arguments], env=environment, text=True, timeout=120, **options)


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    make_tables(folder)
    return folder


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "arguments", [("jobs", "--json"), ("workers",), ("report", "zzzzzzzz", "--json"), ("--help",), ("doctor", "--json")]
)
def test_a_full_disk_is_one_line(home, arguments):
    with open("/dev/full", "w") as full:
        ran = run(home, *arguments, stdout=full, stderr=subprocess.PIPE)
    assert (ran.returncode, ran.stderr) == (2, LOST)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_two_full_disks_still_end_with_an_exit_code(home):
    with open("/dev/full", "w") as full:
        assert run(home, "jobs", "--json", stdout=full, stderr=full).returncode == 2


@pytest.mark.parametrize("arguments", [("jobs", "--json"), ("--help",), ("report", "zzzzzzzz", "--json")])
def test_a_reader_that_has_ended_is_told_nothing(home, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as closed:
        ran = run(home, *arguments, stdout=closed, stderr=subprocess.PIPE)
    assert (ran.returncode, ran.stderr) == (1, "")
