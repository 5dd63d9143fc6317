"""`lumos dataset` as people call it: what it shows of a build, and what it says when something is not as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lumos_queue.cli.main import main
from lumos_queue.jobs.convert import Convert
from tests.stored_rows import run_embedded
from tests.wordmath_rows import read_training_rows

ROWS, AGAIN = 30, 5


@pytest.fixture(scope="module")
def converted(tmp_path_factory) -> Path:
    """A home with a conversion, and some of its rows converted a second time."""
    folder = tmp_path_factory.mktemp("home")
    rows = read_training_rows()
    for limit in (ROWS, AGAIN):
        run_embedded(folder, Convert("wordmath", rows.digest, "train", limit=limit), rows)[0].close()
    return folder


@pytest.fixture
def lumos(converted, monkeypatch, capsys):
    """Calls the command; returns its exit code, standard output and standard error."""
    monkeypatch.setenv("LUMOS_HOME", str(converted))
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["dataset", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def build(lumos, folder: Path, *arguments: object) -> dict:
    code, said, _ = lumos("build", folder.name, "--out", folder, "--json", *arguments)
    assert code == 0, said
    return json.loads(said)


def line(text: str, begins: str) -> str:
    """The rest of the line that begins so, with single spaces."""
    found = [words for words in map(str.split, text.splitlines()) if words[: len(begins.split())] == begins.split()]
    assert found, (begins, text)
    return " ".join(found[0][len(begins.split()) :])


def test_a_build_shows_what_it_was_made_from(lumos, tmp_path):
    made = build(
        lumos,
        tmp_path / "one",
        "--where",
        "benchmark=wordmath",
        "--formulations",
        "iterative,one-pass",
        "--select",
        "shortest",
        "--per-task",
        2,
        "--dev-share",
        0.2,
        "--against",
        "wordmath",
        "--level",
        "executed",
        "--seed",
        7,
    )
    code, shown, _ = lumos("show", tmp_path / "one")
    assert code == 0
    assert line(shown, "episodes where") == "benchmark=wordmath origin!=derived"  # what was added is seen, too
    assert line(shown, "format") == "lumos"
    assert line(shown, "formulations") == "iterative, one-pass"
    assert line(shown, "selection") == "2 of a task, shortest first"
    assert line(shown, "check level") == "at least executed"
    assert line(shown, "dev share") == "20.0 % of the source tasks"
    assert line(shown, "seed") == "7"
    together = " ".join(shown.split())
    assert "test sets checked: wordmath:test (1,000 rows), test splits stored here (0 rows); not checked: " in together
    assert all(name in together.partition("; not checked: ")[2] for name in ("asdiv", "gsm8k", "mawps", "svamp"))
    assert line(shown, "licences") == f"MIT: wordmath {made['rows']} rows"
    assert (
        line(shown, "made")
        == f"{made['created_at'].replace('T', ' ').replace('+00:00', ' UTC')}, code {made['code_version']}"
    )
    for file in made["files"]:
        assert line(shown, file["file"]) == f"{file['rows']} {file['average_turns']:.2f}"
    assert f"digest {made['digest']}" in shown


def test_the_counts_of_a_build_add_up_and_say_their_unit(lumos, tmp_path):
    made = build(lumos, tmp_path / "one")
    _, shown, _ = lumos("show", tmp_path / "one")
    assert made["episodes"]["left_out"] == {"duplicate": AGAIN} and made["episodes"]["used"] == ROWS
    for name, count in (("duplicate", AGAIN), ("used", ROWS), ("read", ROWS + AGAIN)):
        assert line(shown, name) == str(count)
    assert f"{made['rows']} rows from {ROWS} of {ROWS + AGAIN} episodes read" in shown
    told = ", ".join(
        f"{level} {made['levels'][level]}" for level in ("executed", "perturbed") if level in made["levels"]
    )
    assert line(shown, "rows by check level:") == told


@pytest.mark.parametrize("width", ["80", "100"])
def test_nothing_shown_is_wider_than_the_terminal(lumos, tmp_path, monkeypatch, width):
    build(lumos, tmp_path / "one", "--formulations", "iterative,one-pass", "--level", "perturbed")
    monkeypatch.setenv("COLUMNS", width)
    _, shown, _ = lumos("show", tmp_path / "one")
    assert all(len(row) <= int(width) for row in shown.splitlines() if not row.startswith("in "))


def test_rows_for_trl_have_no_turns(lumos, tmp_path):
    build(lumos, tmp_path / "one", "--format", "trl-sft")
    assert "turns" not in lumos("show", tmp_path / "one")[1]
    assert "turns" not in (tmp_path / "one" / "README.md").read_text()


def test_a_damaged_manifest_hides_no_other_build(lumos, converted):
    for name in ("good", "bad"):
        build(lumos, converted / "builds" / name)
    (converted / "builds" / "bad" / "manifest.json").write_text('{"digest": ')
    code, shown, said = lumos("list", "--json")
    found = json.loads(shown)
    assert code == 0 and [one["build"] for one in found["builds"]] == ["good"] and found["damaged"] == ["bad"]
    assert len(said.splitlines()) == 1 and str(converted / "builds" / "bad" / "manifest.json") in said
    (converted / "builds" / "bad" / "manifest.json").write_text('{"digest": "0", "options": [], "files": []}')
    code, shown, said = lumos("list")
    assert code == 0 and "good" in shown and len(said.splitlines()) == 1
    assert lumos("show", "bad")[0] == 2


def test_a_build_whose_rows_were_changed_is_never_called_the_same(lumos, tmp_path):
    build(lumos, tmp_path / "one")
    file = tmp_path / "one" / "planner_iterative.jsonl"
    before = file.read_bytes()
    file.write_bytes(before.replace(b"Subgoal", b"subgoal", 1))
    code, _, said = lumos("build", "one", "--out", tmp_path / "one")
    assert code == 2 and "file planner_iterative.jsonl differs from its manifest" in said
    assert "file planner_iterative.jsonl differs from its manifest" in lumos("show", tmp_path / "one")[1]
    file.unlink()
    assert "planner_iterative.jsonl cannot be read" in lumos("show", tmp_path / "one")[1]
    file.write_bytes(before)
    assert lumos("build", "one", "--out", tmp_path / "one")[0] == 0


def test_a_difference_says_how_much_more_there_is(lumos, tmp_path):
    one = build(lumos, tmp_path / "one")
    build(lumos, tmp_path / "two", "--formulations", "one-pass")
    _, shown, _ = lumos("diff", tmp_path / "one", tmp_path / "two", "--limit", 4)
    assert line(shown, f"and {one['rows'] - 4} more") == "(--limit NUMBER shows more)"
    assert "more (" not in lumos("diff", tmp_path / "one", tmp_path / "two", "--limit", 4000)[1]


def test_folders_for_nothing_are_not_left_and_files_in_the_way_are_named(lumos, tmp_path):
    code, _, said = lumos("build", "one", "--where", "benchmark=svamp", "--out", tmp_path / "new" / "sub" / "one")
    assert code == 2 and "no episode matches the filter" in said and list(tmp_path.iterdir()) == []
    (tmp_path / "mine").write_text("mine")
    code, _, said = lumos("build", "one", "--out", tmp_path / "mine" / "sub")
    assert code == 2 and f"'{tmp_path / 'mine'}' is a file, not a folder" in said and "--out" in said
    assert "Errno" not in said


def test_help_says_which_episodes_are_left_out_unasked(lumos):
    _, shown, _ = lumos("build", "--help")
    assert "origin!=derived is added" in " ".join(shown.replace("│", " ").split())
