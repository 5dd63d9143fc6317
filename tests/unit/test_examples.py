"""What is shown first is short and true: the README, the first example, and the five files that explain the system."""

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


def test_the_five_files_are_there_and_short_together():
    section = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8").partition("## The five files")[2]
    files = re.findall(r"^\d\. \[([^\]]+)\]", section, re.MULTILINE)
    assert len(files) == 5
    lines = {file: len((ROOT / file).read_text(encoding="utf-8").splitlines()) for file in files}
    assert sum(lines.values()) < 600, lines


def test_the_readme_is_short_and_begins_with_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 700
    assert re.findall(r"^    (make \w+|lumos \w+)", text, re.MULTILINE)[:2] == ["make demo", "make test"]
