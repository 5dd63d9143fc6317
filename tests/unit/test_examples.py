"""What the README shows is true: the example runs, and the five files that explain the system stay short."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.conftest import ROOT


def test_the_first_example_runs_and_ends_with_its_answer():
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "hello_episode.py")], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "answered: 31"


def test_the_five_files_of_the_readme_are_there_and_short_together():
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## How it works, in five files")[2]
    files = re.findall(r"^\d\. \[([^\]]+)\]", section, re.MULTILINE)
    assert len(files) == 5
    lines = {file: len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files}
    assert sum(lines.values()) < 600, lines
