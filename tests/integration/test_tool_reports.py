"""Reports of tool agents: split by provenance, and Sum2Act's state manager against the statuses of calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from db.engine.connection import open_database
from db.engine.migrate import downgrade, upgrade
from db.queries.jobs import get_job
from db.queries.tool_figures import serial_steps
from lumos_queue.cli.main import app, main
from lumos_queue.reports.provenance import classify
from lumos_queue.review.task_states import read_stateful_agent, rebuild_states
from lumos_queue.settings import read_settings
from tests.fake_endpoint import FakeEndpoint
from tests.integration.rollout_jobs import command, episodes
from tests.parcel_agents import judge, policy, state_agent, write_queries, write_records
from tests.tool_scripts import finish


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path, monkeypatch) -> str:
    found = "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LUMOS_DATABASE_URL", found)
    if found:
        assert main(["db", "upgrade"]) == 0
    return found


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    return tmp_path


def evaluated(folder: Path, capsys: Any, formulation: str, *options: str, reply: Any = None) -> dict[str, Any]:
    """The report of an evaluation of the three questions of one subset."""
    if not (folder / "queries").exists():
        write_queries(folder / "queries")
    records, roles = write_records(folder / "answers.jsonl"), ("policy",)
    if formulation == "sum2act":
        roles = ("router", "state_manager")
    with FakeEndpoint(reply or (state_agent if formulation == "sum2act" else policy)) as server:
        asked = [word for role in roles for word in ("--role", f"{role}={server.tgi}")]
        code, report = command(
            app,
            capsys,
            "evaluate",
            "toolbench",
            "--data",
            str(folder / "queries"),
            "--split",
            "I1-inst",
            "--formulation",
            formulation,
            "--tool",
            f"records={records}",
            *asked,
            *options,
        )
    assert code == 0
    return report


def judged(capsys: Any, job: str, *options: str) -> dict[str, Any]:
    with FakeEndpoint(judge) as server:
        code, report = command(app, capsys, "judge", job, "--role", f"judge={server.tgi}", "--votes", "1", *options)
    assert code == 0
    return report


def test_calls_are_counted_by_provenance_and_status(url, tmp_path, capsys):
    strict = evaluated(tmp_path, capsys, "react")
    assert strict["tool_calls"] == [
        {"provenance": "none", "status": "not_recorded", "calls": 1},
        {"provenance": "recorded", "status": "ok", "calls": 2},
    ]
    assert {name: one["n"] for name, one in strict["by_provenance"].items()} == {"recorded": 2, "none": 1}
    mixed = evaluated(tmp_path, capsys, "react", "--tool", "answers=synthetic")
    assert [one["provenance"] for one in mixed["tool_calls"]] == ["recorded", "synthetic"]
    split = mixed["by_provenance"]
    assert list(split) == ["synthetic", "recorded"] and sum(one["n"] for one in split.values()) == mixed["n"] == 3
    assert (split["recorded"]["answered"]["value"], split["synthetic"]["answered"]["value"]) == (1, 0)
    low, high = split["recorded"]["answered"]["ci95"]
    assert 0 < low < 1 == high
    database = open_database(read_settings().database)
    query = "SELECT provenance, status, count(*) FROM v_tool_calls WHERE job = :job GROUP BY 1, 2 ORDER BY 1, 2"
    with database.engine.connect() as connection:
        assert [tuple(row) for row in connection.execute(text(query), {"job": strict["job"]})] == [
            ("", "not_recorded", 1),
            ("recorded", "ok", 2),
        ]
    database.close()


def test_a_judges_scores_are_split_by_the_runs_that_are_judged(url, tmp_path, capsys):
    run = evaluated(tmp_path, capsys, "react", "--tool", "answers=synthetic")
    report = judged(capsys, run["job"])
    split = report["by_provenance"]
    assert {name: one["n"] for name, one in split.items()} == {"synthetic": 1, "recorded": 2}
    assert split["recorded"]["pass"]["value"] == 0.5 and split["synthetic"]["pass"]["value"] == 0
    assert split["recorded"]["tooleval_pass"]["of"] == 2 and "tool_calls" not in report
    again = judged(capsys, run["job"], "--against", evaluated(tmp_path, capsys, "react")["job"])
    assert sum(one["win"]["of"] for one in again["by_provenance"].values()) == 3
    assert main(["rm", run["job"], "--yes"]) == 0
    capsys.readouterr()
    _, alone = command(app, capsys, "report", report["job"])
    assert "by_provenance" not in alone, "which runs they were is no longer known"


def test_items_without_a_score_are_in_no_class(home, capsys):
    def refuses(prompt: str) -> str | None:
        return None if "parcel P2" in prompt else policy(prompt)

    write_queries(home / "queries")
    records = write_records(home / "answers.jsonl")
    with FakeEndpoint(refuses) as server:
        code, report = command(
            app,
            capsys,
            "evaluate",
            "toolbench",
            "--data",
            str(home / "queries"),
            "--split",
            "I1-inst",
            "--formulation",
            "react",
            "--tool",
            f"records={records}",
            "--role",
            f"policy={server.tgi}",
        )
    assert code == 3 and not report["complete"]
    assert {name: one["n"] for name, one in report["by_provenance"].items()} == {
        "recorded": 1,
        "none": 1,
        "no score": 1,
    }


@pytest.mark.parametrize(
    ("found", "name"),
    [
        ((), "none"),
        (("recorded",), "recorded"),
        (("recorded", "live"), "recorded"),
        (("simulated", "recorded"), "simulated"),
        (("simulated", "synthetic", "live"), "synthetic"),
        (("live",), "live"),
    ],
)
def test_an_episode_is_as_real_as_its_least_real_answer(found, name):
    assert classify(frozenset(found)) == name


def test_verdicts_are_compared_with_statuses_and_what_settings_did_is_counted(url, tmp_path, capsys):
    report = evaluated(tmp_path, capsys, "sum2act")
    assert report["router"] == {"episodes": 3, "decisions": 7, "repairs": 1, "repeated": 1, "summaries": 0, "forced": 0}
    found = report["state_manager"]
    assert (found["verdicts"], found["unreadable"]) == (3, 0)
    assert (found["disagreement"]["count"], found["disagreement"]["of"]) == (2, 3)
    low, high = found["disagreement"]["ci95"]
    assert low < found["disagreement"]["value"] == round(2 / 3, 6) < high
    assert (found["success_of_failed_calls"]["count"], found["success_of_failed_calls"]["of"]) == (1, 1)
    assert (found["failure_of_ok_calls"]["count"], found["failure_of_ok_calls"]["of"]) == (1, 2)
    database = open_database(read_settings().database)
    with database.engine.connect() as connection:
        job = get_job(connection, report["job"])
        reasons = {step.status for step in serial_steps(connection, job.id) if step.who}
    assert reasons == {"stop"}, "of replies"
    agent, state = read_stateful_agent(job.kind, job.spec)
    states = [rebuild_states(state, one.task, agent, one.steps) for one in episodes(database, f"job={job.id}")]
    assert sum(map(len, states)) == report["router"]["decisions"], "as the replay has it"
    records = [record for state in states for record in state[-1][1].records if "made before" not in record.text]
    assert sum(record.success for record in records) == 2 and len(records) == 3
    database.close()


def test_summaries_forced_endings_and_unreadable_records_are_counted(home, capsys):
    def wordy(prompt: str) -> str | None:
        if "Shorten this" in prompt:
            return "Ombry."
        if "You record what" in prompt:
            long = "It is in Ombry. " * 100
            return "no record" if "parcel P2" in prompt else json.dumps({"status": "success", "answer": long})
        return finish("It is in Ombry.") if "no further step" in prompt else state_agent(prompt)

    options = (
        "--setting",
        "force_finish=yes",
        "--setting",
        "steps=1",
        "--setting",
        "state=500",
        "--setting",
        "decompose=yes",
    )
    report = evaluated(home, capsys, "sum2act", *options, reply=wordy)
    assert report["endings"] == {"answered": 3}
    assert report["router"] == {"episodes": 3, "decisions": 6, "repairs": 1, "repeated": 0, "summaries": 2, "forced": 3}
    found = report["state_manager"]
    assert (found["verdicts"], found["unreadable"]) == (3, 1)
    assert (found["failure_of_ok_calls"]["count"], found["failure_of_ok_calls"]["of"]) == (1, 2)


def test_reports_of_other_agents_say_nothing_of_it(home, capsys):
    report = evaluated(home, capsys, "dfsdt")
    assert "router" not in report and "state_manager" not in report and "tool_calls" in report


def test_people_see_tables(home, capsys, monkeypatch):
    job = evaluated(home, capsys, "sum2act", "--tool", "answers=synthetic")["job"]
    for width in ("80", "100"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["report", job, "--all"]) == 0
        shown = capsys.readouterr().out
        assert max(map(len, shown.splitlines())) <= int(width)
        lines = [" ".join(line.split()) for line in shown.splitlines()]
        assert "router: repeated 1" in lines and {"ok recorded 2", "ok synthetic 1"} <= set(lines)
        assert any(line.startswith("state manager: disagreement 1 of 3: 33.3 % [") for line in lines)
        assert "state manager: success of failed calls no such call" in lines


def test_what_was_stored_before_the_view_had_the_column_is_shown_with_it(url, tmp_path, capsys):
    job = evaluated(tmp_path, capsys, "react")["job"]
    database = open_database(read_settings().database)
    downgrade(database, "0007")
    with database.engine.connect() as connection:
        before = connection.execute(text("SELECT * FROM v_tool_calls")).mappings().all()
    upgrade(database)
    with database.engine.connect() as connection:
        now = connection.execute(text("SELECT * FROM v_tool_calls")).mappings().all()
    database.close()
    assert len(before) == len(now) == 3 and {one["job"] for one in now} == {job}
    assert [list(one)[-1] for one in now] == ["provenance"] * 3
    assert [{name: one[name] for name in one if name != "provenance"} for one in now] == [dict(one) for one in before]


def test_verdicts_of_a_rewritten_state_are_those_on_the_newest_call(home, capsys):
    """The manager says the same as where it appends; of calls before it says nothing, or turns what it said."""

    def rewriting(prompt: str) -> str | None:
        if "You keep the state" not in prompt:
            return state_agent(prompt)
        newest = int(prompt.rsplit("has the number ", 1)[1].split(".")[0])
        failure = {"call": newest, "aim": "the town", "reason": "it is empty"}
        success = {"call": newest, "aim": "the town", "answer": "Ombry"}
        if "parcel P2" in prompt:
            return json.dumps({"results": [], "failures": [failure]})
        return json.dumps({"results": [success], "failures": [{"call": one} for one in range(1, newest)]})

    plain = evaluated(home, capsys, "sum2act")
    report = evaluated(home, capsys, "sum2act", "--setting", "update=rewrite", reply=rewriting)
    assert report["job"] != plain["job"] and report["router"] == plain["router"]
    assert report["state_manager"] == plain["state_manager"]
