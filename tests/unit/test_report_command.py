"""`lumos report` with --html and --md, as a person calls it."""

from __future__ import annotations

import json
import os

import pytest

from tests.page_parts import require_harmless


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The files are written where the command is called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def job(lumos, tmp_path) -> str:
    """An evaluation by a scripted agent, which gets nothing right."""
    (tmp_path / "planner.json").write_text('[{"contains": "", "reply": "Subgoal 1: Solve it."}]')
    (tmp_path / "grounder.json").write_text('[{"contains": "", "reply": "R1 = Calculator(0 - 1)"}]')
    options = [part for role in ("planner", "grounder") for part in (f"--{role}", f"scripted:{tmp_path / role}.json")]
    found = lumos("evaluate", "wordmath", "--limit", "3", "--formulation", "one-pass", *options, "--json")
    return json.loads(found.lines[-1])["job"]


def test_the_command_says_where_the_files_are_and_how_long(lumos, job, tmp_path):
    ran = lumos("report", job, "--html", "a.html", "--md", "a.md", "--price-prompt", "1")
    assert ran.code == 0
    sizes = {name: os.path.getsize(tmp_path / name) for name in ("a.html", "a.md")}
    assert ran.lines == [f"{name}: {size / 1000:.1f} kB" for name, size in sizes.items()]
    page = require_harmless((tmp_path / "a.html").read_text())
    assert len(page.xpath("//article")) == 3
    assert "USD per million tokens: 1 in, 0 out" in page.text_content()
    assert f"{job}-0" in (tmp_path / "a.md").read_text()


def test_a_program_is_told_the_same(lumos, job, tmp_path):
    ran = lumos("report", job, "--html", str(tmp_path / "b.html"), "--json")
    assert json.loads(ran.lines[-1]) == {
        "jobs": [job],
        "html": {"file": str(tmp_path / "b.html"), "bytes": os.path.getsize(tmp_path / "b.html")},
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--html", "home"], "exists already"),
        (["--html", "none/a.html"], "there is no folder 'none'"),
        (["--html", "home/lumos.db/a.html"], "there is no folder"),
        (["--html", "same", "--md", "./same"], "both name"),
        (["--price-prompt", "1"], "name a file"),
        (["--html", "a.html", "--price-prompt", "-1"], "price-prompt"),
        (["--html", "a.html", "--price-completion", "inf"], "finite"),
    ],
)
def test_what_cannot_be_written_is_one_line_and_nothing_is_left(lumos, job, tmp_path, options, told):
    before = sorted(os.listdir(tmp_path))
    ran = lumos("report", job, *options)
    assert ran.code == 2
    assert told in ran.err
    assert len(ran.err.splitlines()) == 1
    assert sorted(os.listdir(tmp_path)) == before


def test_a_job_that_does_not_exist_writes_nothing(lumos, job, tmp_path):
    ran = lumos("report", job, "nonesuch", "--html", "a.html")
    assert (ran.code, os.path.exists(tmp_path / "a.html")) == (2, False)
