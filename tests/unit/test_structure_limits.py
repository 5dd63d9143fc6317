"""The limits of the figures of `make structure`: each can be exceeded, and each is a figure that is measured."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.bindings import EMPTY
from tests.structure.limits import find_excesses, read_limits, select_measures
from tests.structure.report import measure_tree

ROOT = Path(__file__).resolve().parents[2]
LIMITS = read_limits(ROOT / "pyproject.toml")
EXCEEDING = {
    "empty_names_per_1000_bindings": "one = 1\n",
    "general_names": "value = 1\n" * (LIMITS["general_names"] + 1),
    "functions_that_begin_with_a_participle": "def converted_rows(): ...\n",
    "fmt_skip": "x = 1  # fmt: skip\n" * (LIMITS["fmt_skip"] + 1),
}


def measure_text(folder: Path, text: str) -> dict[str, float]:
    (folder / "house").mkdir()
    (folder / "house/a.py").write_text(text)
    return select_measures(measure_tree(folder, ["house"]))


@pytest.mark.parametrize("name", LIMITS)
def test_code_above_a_limit_exceeds_that_limit_alone(tmp_path, name):
    measures = measure_text(tmp_path, EXCEEDING[name])
    [line] = find_excesses(measures, LIMITS)
    assert re.fullmatch(rf"{name} is [\d,.]+; at most {LIMITS[name]:,} are allowed", line)


def test_code_at_the_limits_exceeds_none(tmp_path):
    general, skips = LIMITS["general_names"], LIMITS["fmt_skip"]
    text = "x = 1  # fmt: skip\n" * skips + "value = 1\n" * general + "one = 1\n" * 10
    measures = measure_text(tmp_path, text + "row = 1\n" * (990 - skips - general))
    assert measures == LIMITS
    assert find_excesses(measures, LIMITS) == []


def test_a_limit_of_something_that_is_not_measured_is_refused():
    with pytest.raises(ValueError, match="'colours' has a limit and is not measured; measured are names"):
        find_excesses({"names": 1}, {"names": 1, "colours": 2})


@pytest.mark.parametrize("text", ["true", "'10'"])
def test_a_limit_that_is_no_number_is_refused(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(f"[tool.structure.limits]\nnames = {text}\n")
    with pytest.raises(ValueError, match=r"\[tool.structure.limits\] names = .* is no number"):
        read_limits(tmp_path / "pyproject.toml")


def test_contributing_says_what_to_write_instead_of_each_word_that_is_counted():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    words = set(re.findall(r"`(\w+)`", " ".join(cells)))
    assert EMPTY - words == set()


@pytest.mark.parametrize(
    ("text", "code", "output"),
    [
        ("row = 1\n", 0, "No limit is exceeded.\n"),
        ("def seen(): ...\n", 1, "functions_that_begin_with_a_participle is 1; at most 0 are allowed\n"),
    ],
)
def test_the_command_prints_what_is_exceeded_and_exits_with_1(tmp_path, text, code, output):
    (tmp_path / "house").mkdir()
    (tmp_path / "house/a.py").write_text(text)
    command = [sys.executable, "-m", "tests.structure", "--limits", "--root", str(tmp_path), "house"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (code, output)
