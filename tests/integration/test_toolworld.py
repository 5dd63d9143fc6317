"""ToolWorld through the real commands, and as a search whose process is killed. Scripted models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.toolworld.policies import oracle
from lumos_queue.cli.main import app, main
from lumos_queue.formulations.registry import FORMULATIONS
from tests.fake_endpoint import FakeEndpoint
from tests.integration.rollout_jobs import command
from tests.kills.search import kill_at, prepare
from tests.kills.world import SPLIT, find_world_search
from tests.tool_judges import label

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # a child uses no thread of this process


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    return tmp_path


def evaluated(capsys: Any, formulation: str, *options: str) -> dict[str, Any]:
    """The report of an evaluation of the first tasks of a split, played by the oracle."""
    with FakeEndpoint(oracle) as server:
        roles = [word for role in FORMULATIONS.load(formulation).roles for word in ("--role", f"{role}={server.tgi}")]
        asked = ("evaluate", "toolworld", "--split", SPLIT, "--formulation", formulation, "--limit", "12", *options)
        code, report = command(app, capsys, *asked, *roles)
    assert code == 0
    return report


@pytest.mark.parametrize("formulation", ["react", "dfsdt", "sum2act"])
def test_an_evaluation_reports_each_metric_over_the_tasks_that_it_is_of(home, capsys, formulation):
    dials = ("faults=1", "traps=1", "unsolvable=0.3", "parts=1-2", "links=1-2")
    options = [word for one in dials for word in ("--option", one)]
    unlimited = () if formulation == "sum2act" else ("--setting", "depth=0")
    report = evaluated(capsys, formulation, *options, *unlimited)
    values = {name: (one["value"], one["of"]) for name, one in report["metrics"].items()}
    solvable = values["verified_pass"][1]
    assert report["complete"] and values["pass"] == (1, 12) and values["false_finish"] == (0, 12)
    assert 0 < solvable < 12 and values["right_refusal"] == (1, 12 - solvable)
    assert {one["provenance"] for one in report["tool_calls"]} <= {"synthetic", "none"}


def test_tooleval_judges_the_same_episodes(home, capsys):
    job = evaluated(capsys, "react", "--option", "parts=1", "--option", "unsolvable=0")["job"]
    with FakeEndpoint(lambda prompt: label("Solved")) as server:
        code, report = command(app, capsys, "judge", job, "--role", f"judge={server.tgi}", "--votes", "1")
    assert code == 0 and report["metrics"]["pass"]["of"] == 12


def test_a_bad_dial_ends_the_command_with_one_line(home, capsys):
    for said in ("faults=2", "apis=0", "seed=0"):
        asked = ["evaluate", "toolworld", "--split", SPLIT, "--formulation", "react", "--option", said]
        assert main([*asked, "--role", "policy=tgi://127.0.0.1:1"]) == 2
        told = capsys.readouterr().err.strip().splitlines()
        assert len(told) == 1 and f"--option {said}" in told[0]


def test_a_search_through_traps_and_limits_is_the_same_after_a_kill(tmp_path):
    search = prepare(*find_world_search(), SPLIT, tmp_path)
    assert len(search.expected[search.row]["tool_call"]) > 5
    for step in (3, search.steps // 2, search.steps - 3):
        assert kill_at(search, step) == (step, search.steps - step, 0)
