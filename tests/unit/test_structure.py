"""The figures of `make structure`, on a tree small enough to count by hand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.lengths import measure
from tests.structure.names import begins_with_participle, is_bare_participle
from tests.structure.report import measure_tree, write_table

ROOT = Path(__file__).resolve().parents[2]
TREE = {
    "house/__init__.py": '"""Docstrings and comments are not code."""\n',
    "house/loose.py": "def late():\n    from house.room import door\n    return door\n",
    "house/room/__init__.py": "",
    "house/room/door.py": (
        "from typing import TYPE_CHECKING\n\nfrom ..loose import late\n"
        "if TYPE_CHECKING:\n    from house.room.key import Key\n\n"
        "class Key:\n    def turned(self, twice, *, hard: bool = False): ...\n"
    ),
    "house/room/key.py": (
        "import typing\nfrom typing import Any\n\nfrom house.room import door\n\n"
        "class Key:\n"
        "    @property\n    def lost(self) -> bool: ...\n"
        "    @staticmethod\n    def copy(of) -> Any: ...\n\n"
        "class _Lock: ...\n"
    ),
    "cellar/__init__.py": "from house import loose\n\nclass _Lock: ...\n",
    "cellar/wine.py": (
        'TEXT = "# fmt: skip"\n'
        "BOTTLES = {\n    1: 2, 3: 4,\n}  # fmt: skip\n\n"
        "def drink_up(*bottles: int, **more: typing.Any) -> int:\n"
        "    def emptied(bottle): ...\n"
        "    return sum(map(lambda one: one, bottles))\n\n"
        "def given() -> int:  # fmt: skip\n    return 1\n\n"
        "def is_given() -> bool: ...\n\ndef _given() -> int: ...\n\ndef tasted() -> bool: ...\n"
    ),
}


@pytest.fixture
def tree(tmp_path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def found(tree) -> dict:
    return measure_tree(tree, ["house", "cellar"])


def members(circles: list[dict]) -> list[list[str]]:
    return [circle["members"] for circle in circles]


def test_circles_are_found_by_the_kind_of_import_that_closes_them(found):
    run, everything, typed = found["circles_of_packages"].values()
    assert members(run) == []
    assert members(everything) == [["house.loose", "house.room"]]
    assert members(typed) == [["house.loose", "house.room"], ["house.room.door", "house.room.key"]]
    assert everything[0]["arrows"] == [
        {"from": "house.loose", "to": "house.room", "imports": ["house/loose.py:2"]},
        {"from": "house.room", "to": "house.loose", "imports": ["house/room/door.py:3"]},
    ]
    run, everything, typed = found["circles_of_files"].values()
    assert (members(run), members(everything)) == ([], [["house.loose", "house.room.door"]])
    assert members(typed) == [["house.loose", "house.room.door", "house.room.key"]]


def test_packages_and_loose_modules_are_counted(found):
    assert found["packages"] == 4  # house itself, loose, room, cellar
    assert found["loose_modules"] == ["house/loose.py"]


def test_types_that_are_missing_are_found(found):
    assert found["untyped_parameters"] == [
        "house/room/door.py:8 Key.turned(twice)",
        "house/room/key.py:10 Key.copy(of)",
        "cellar/wine.py:7 drink_up.emptied(bottle)",
    ]
    assert found["untyped_results"] == [
        "house/loose.py:1 late",
        "house/room/door.py:8 Key.turned",
        "cellar/wine.py:7 drink_up.emptied",
    ]
    assert found["any"] == ["house/room/key.py:10", "cellar/wine.py:6"]
    assert found["code_lines"] == 3 + 6 + 9 + 2 + 12
    assert found["any_per_1000_code_lines"] == round(2000 / found["code_lines"], 1)


def test_participles_and_names_with_two_meanings_are_found(found):
    assert found["participles"] == ["house/room/door.py:8 Key.turned", "cellar/wine.py:10 given"]
    assert found["functions_that_begin_with_a_participle"] == found["participles"]
    assert list(found["repeated_classes"]) == ["Key"]
    assert found["repeated_classes_with_private"] == {
        "Key": ["house/room/door.py:7", "house/room/key.py:6"],
        "_Lock": ["house/room/key.py:12", "cellar/__init__.py:3"],
    }


@pytest.mark.parametrize("name", ["tidied", "left_out", "partly_written", "seen", "missing", "unlabelled"])
def test_a_participle_that_stands_alone_is_bare(name):
    assert is_bare_participle(name)


@pytest.mark.parametrize("name", ["read", "embed", "warning", "converted_rows", "read_rows", "is_given", "split_of"])
def test_verbs_nouns_and_adjectives_are_no_bare_participles(name):
    assert not is_bare_participle(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("converted_rows", True), ("left_after_two", True), ("seen", True), ("read_rows", False), ("is_given", False)],
)
def test_a_function_begins_with_a_participle_if_its_first_word_is_one(name, expected):
    assert begins_with_participle(name) is expected


def test_names_that_are_bound_are_counted_and_parameters_are_not(tmp_path):
    lines = ["one, row = 1, 2", "def f(found, value): other = value", "x = [one for one in y if (found := one)]"]
    lines += ["for value in y: data.entry = value", "with a as obj: print(result, told)", "import told"]
    (tmp_path / "house").mkdir()
    (tmp_path / "house/a.py").write_text("\n".join(lines) + "\n")
    report = measure_tree(tmp_path, ["house"])
    assert report["bindings"] == 8  # one, row, other, x, one, found, value, obj
    places = ["1 one", "2 other", "3 found", "3 one"]
    assert sorted(report["empty_names"]) == [f"house/a.py:{place}" for place in places]
    assert report["empty_names_per_1000_bindings"] == 500
    assert sorted(report["general_names"]) == ["house/a.py:4 value", "house/a.py:5 obj"]


def test_places_without_formatter_are_counted_in_the_whole_checkout(tree):
    for folder in ("tests", ".venv", "build"):
        (tree / folder).mkdir()
        (tree / folder / "a.py").write_text("x = 1  # fmt: skip\ny = 2  # fmt: off\n")
    places = measure_tree(tree, ["house"])["fmt_skip_everywhere"]
    assert places == ["cellar/wine.py:4", "cellar/wine.py:10", "tests/a.py:1"]


def test_lengths_are_taken_as_written_and_as_formatted_without_exceptions(found):
    assert found["fmt_skip"] == ["cellar/wine.py:4", "cellar/wine.py:10"]
    assert found["fmt_off"] == []
    lengths = found["lengths"]
    assert (lengths["module lines"]["max"], lengths["module lines"]["longest"]) == (17, "cellar/wine.py")
    # The formatter puts the dictionary on lines of its own, and two blank lines around functions.
    assert lengths["module lines, formatted"]["max"] > 17
    assert lengths["function lines"] == {"median": 1, "p90": 3, "max": 3, "longest": "house/loose.py late"}


def test_the_median_and_the_ninetieth_part_are_nearest_ranks():
    spread = measure([(number, str(number)) for number in range(1, 11)])
    assert (spread.median, spread.p90, spread.max, spread.longest) == (5, 9, 10, "10")
    assert measure([]).max == 0


def test_the_command_prints_a_table_a_list_and_json(tree, found):
    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.structure", "--root", str(tree), *options, "house"]
        return subprocess.run([*command, "cellar"], cwd=ROOT, capture_output=True, text=True)

    assert json.loads(run("--json").stdout) == found
    assert run().stdout == write_table(found, lists=False) + "\n"
    assert "    cellar/wine.py:10 given\n" in run("--list").stdout
    missing = run("attic")
    assert missing.returncode == 2
    assert "attic" in re.sub(r"[\s│]", "", missing.stderr)  # a long path is broken into lines
