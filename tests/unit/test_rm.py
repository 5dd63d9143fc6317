"""`lumos rm`: it wants the whole id, says what goes, and asks."""

from __future__ import annotations

import io
import json

import pytest

from lumos_queue.cli.main import main


@pytest.fixture
def job(tmp_path, monkeypatch, capsys) -> str:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("lumos_queue.cli.output.as_json", False)
    convert = ["convert", "wordmath", "--deterministic", "--split", "dev", "--limit", "2", "--json"]
    assert main([*convert, "--name", "mine"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])["job"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def is_there(job: str) -> bool:
    return main(["job", job]) == 0


def test_a_beginning_of_an_id_deletes_nothing_and_the_whole_one_is_told(job, capsys):
    assert main(["rm", job[:7], "--yes"]) == 2
    err = capsys.readouterr().err
    assert f"lumos rm {job}" in err and len(err.splitlines()) == 1 and is_there(job)


def test_without_a_terminal_and_yes_nothing_is_deleted(job, capsys):
    assert main(["rm", job]) == 2
    err = capsys.readouterr().err
    assert f"This deletes job {job} 'mine': convert wordmath annotation, 2 of 2 episodes, run from 20" in err
    assert err.rstrip().endswith(f"lumos rm {job} --yes") and len(err.splitlines()) == 1 and is_there(job)


@pytest.mark.parametrize(
    ("answer", "gone"), [("n\n", False), ("\n", False), ("", False), ("y\n", True), ("YES\n", True)]
)
def test_a_person_at_the_terminal_is_asked(job, monkeypatch, answer, gone):
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", told := Terminal())
    assert main(["rm", job]) == 0
    assert "2 of 2 episodes" in told.getvalue() and "Delete it? [y/N]" in told.getvalue()
    assert is_there(job) is not gone


def test_with_yes_it_is_deleted_and_told(job, capsys):
    assert main(["rm", job, "--yes"]) == 0
    assert f"removed job {job} 'mine': convert" in capsys.readouterr().out and not is_there(job)
