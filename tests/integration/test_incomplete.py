"""Jobs that end incomplete: exit code 3, what the report says, and that a resume asks for nothing twice."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from sqlalchemy import update

from db.engine.connection import now
from db.models import Item
from db.queue.quarantine import DEATHS, close_sessions
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.database import database
from lumos_queue.settings import read_settings
from tests.claims import claim, holder
from tests.command_line import Result
from tests.fake_endpoint import FakeEndpoint

ITEMS = 6
REFUSED = (1, 4)  # ordinals of the tasks whose grounding is refused


@pytest.fixture
def lumos(lumos, monkeypatch):
    """The command, which waits a tenth as long for evidence about what was refused, and before it tries again."""
    lumos.set(LUMOS_CONCURRENCY=2, COLUMNS=80)
    for name, seconds in (
        ("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.15),
        ("workers.slice.UNDECIDED_SECONDS", 0.3),
        ("workers.slice.REFUSED_SECONDS", 0.8),
        ("workers.slice.IDLE_SECONDS", 0.05),
        ("workers.run.WAIT_SECONDS", 0.5),
    ):
        monkeypatch.setattr(name, seconds)
    return lumos


def result(ran: Result) -> dict:
    """What a command printed with --json; its exit code may be another than 0."""
    assert len(ran.lines) == 1
    return json.loads(ran.lines[0])


class Model:
    """A planner and grounder that errs on every task, and refuses the prompts in which one of `refused` stands."""

    def __init__(self):
        tasks = zip(range(ITEMS), open_benchmark("wordmath").read(None, "test"), strict=False)
        self.refused = [task.question for ordinal, task in tasks if ordinal in REFUSED]

    def __call__(self, prompt: str) -> str | None:
        if "to be grounded:" not in prompt:
            return "Subgoal 1: Add."
        return None if any(question in prompt for question in self.refused) else "R1 = Calculator(2 + 3)"


def test_a_job_that_ended_incomplete_says_so_and_is_completed_by_a_resume(lumos):
    model = Model()
    with FakeEndpoint(model) as server:
        arguments = [
            "evaluate",
            "wordmath",
            "--limit",
            str(ITEMS),
            "--formulation",
            "one-pass",
            "--planner",
            server.tgi,
            "--grounder",
            server.tgi,
        ]
        ran = lumos(*arguments, "--json")
        report = result(ran)
        job, go_on = report["job"], f"lumos resume {report['job']}"
        assert ran.code == 3
        assert (report["state"], report["complete"], report["endings"]["infra_error"]) == ("done", False, 2)
        assert (report["lacking"], report["go_on"]) == ({"infra_error": 2}, go_on)
        assert (report["correct"], report["value"], report["bounds"]) == (0, 0.0, [0.0, pytest.approx(2 / 6, abs=1e-6)])

        printed_report = lumos("report", job)
        assert printed_report.code == 3
        assert "incomplete: 0.0 to 33.3 %" in printed_report.out
        assert f"{job} is incomplete: 2 of its items ended with infra_error. Continue with: {go_on}" in " ".join(
            printed_report.out.split()
        )
        again = lumos(*arguments)
        assert (again.code, go_on in again.out) == (3, True)
        assert "the same request and is done: it is shown instead" in again.err

        model.refused = []
        resumed = lumos("resume", job, "--json")
        assert (resumed.code, result(resumed)["complete"]) == (0, True)
        assert result(resumed)["endings"] == {"answered": ITEMS}
        asked = Counter(call["sha256"] for call in server.calls)
        again = [count for count in asked.values() if count > 1]
        assert len(again) == len(REFUSED) and max(again) <= 4, "only what was refused is asked again"

    assert "go_on" not in result(lumos("report", job, "--json"))
    assert lumos("report", job).code == 0
    (past,) = result(lumos("show", f"{job}-{REFUSED[0]}", "--json"))["earlier_endings"]
    assert past["ending"] == "infra_error" and "422" in past["message"]
    assert " UTC: infra_error: " in lumos("show", f"{job}-{REFUSED[0]}").out
    assert result(lumos("show", f"{job}-0", "--json"))["earlier_endings"] == []


def test_of_several_jobs_one_that_ended_incomplete_is_enough(lumos):
    model = Model()
    with FakeEndpoint(model) as server:
        arguments = [
            "infer",
            "wordmath",
            "--formulation",
            "one-pass",
            "--planner",
            server.tgi,
            "--grounder",
            server.tgi,
        ]
        complete_job, incomplete_job = (result(lumos(*arguments, "--limit", limit, "--json")) for limit in ("1", "2"))
    assert (complete_job["complete"], incomplete_job["complete"]) == (True, False)
    assert lumos("report", complete_job["job"]).code == 0
    assert lumos("report", complete_job["job"], incomplete_job["job"]).code == 3


def test_a_job_that_has_not_ended_is_not_incomplete_and_a_cancelled_one_is(lumos, monkeypatch):
    monkeypatch.setenv("LUMOS_BROKER_URL", "redis://127.0.0.1:9/0")
    job = lumos("evaluate", "wordmath", "--limit", "2", "--planner", "tgi://h:1", "--grounder", "tgi://h:1").out.strip()
    for change, code in (("", 0), ("pause", 0), ("resume", 0), ("cancel", 3)):
        if change:
            assert lumos(change, job, "--json").code == 0
        ran = lumos("report", job, "--json")
        assert (ran.code, result(ran)["complete"], "go_on" in result(ran)) == (code, False, code == 3)


def test_a_job_of_which_an_item_is_in_quarantine_ends_incomplete(lumos, monkeypatch):
    """One that killed every process that had it alone; the others are worked on and scored."""
    model = Model()
    model.refused = []
    with FakeEndpoint(model) as server:
        arguments = [
            "evaluate",
            "wordmath",
            "--limit",
            str(ITEMS),
            "--formulation",
            "one-pass",
            "--planner",
            server.tgi,
            "--grounder",
            server.tgi,
        ]
        monkeypatch.setenv("LUMOS_BROKER_URL", "redis://127.0.0.1:9/0")
        job = lumos(*arguments).out.strip()
        monkeypatch.delenv("LUMOS_BROKER_URL")
        with database(read_settings()) as opened:
            for _ in range(DEATHS):
                with opened.writer.begin() as connection:
                    connection.execute(update(Item).values(not_before_at=now() + 800))
                    connection.execute(update(Item).where(Item.ordinal == 2).values(not_before_at=0.0))
                who = holder(opened, job)
                assert [item.ordinal for item in claim(opened, who)] == [2]
                with opened.writer.begin() as connection:
                    close_sessions(connection, [who.session], "a test", has_died=True)
            with opened.writer.begin() as connection:
                connection.execute(update(Item).values(not_before_at=0.0))

        ran = lumos(*arguments, "--json")
        report, go_on = result(ran), f"lumos resume {job}"
        assert (ran.code, report["job"], report["state"], report["complete"]) == (3, job, "done", False)
        assert (report["items"], report["endings"]) == ({"done": 5, "quarantined": 1}, {"answered": 5})
        assert (report["lacking"], report["go_on"]) == ({"quarantined": 1}, go_on)
        assert (report["value"], report["bounds"]) == (0.0, [0.0, pytest.approx(1 / 6, abs=1e-6)])
        printed_report = lumos("report", job)
        assert printed_report.code == 3 and "incomplete: 0.0 to 16.7 %" in printed_report.out
        assert f"{job} is incomplete: 1 of its items quarantined. Continue with: {go_on}" in " ".join(
            printed_report.out.split()
        )
        assert "quarantined: 6 processes died while this was all they worked on" in lumos("job", job, "--json").out

        resumed = lumos("resume", job, "--json")
        assert (resumed.code, result(resumed)["complete"]) == (0, True)
        assert result(resumed)["endings"] == {"answered": ITEMS}
        asked = Counter(call["sha256"] for call in server.calls)
    assert sorted(asked.values()) == [1] * (2 * ITEMS)
    assert lumos("report", job).code == 0


@pytest.mark.parametrize("status", ["404", "307"])
def test_what_only_a_person_can_change_is_told_and_given_up_and_the_items_are_given_back(lumos, monkeypatch, status):
    monkeypatch.setattr("workers.patience.GIVE_UP_SECONDS", 2.0)
    monkeypatch.setattr("lumos_queue.cli.outage.REPORT_SECONDS", 0.5)
    model = Model()
    model.refused = []

    def answer(prompt: str) -> str | None:
        if server.count >= ITEMS:
            server.mode = status
        return model(prompt)

    with FakeEndpoint(answer) as server:
        arguments = [
            "evaluate",
            "wordmath",
            "--limit",
            "20",
            "--formulation",
            "one-pass",
            "--planner",
            server.tgi,
            "--grounder",
            server.tgi,
        ]
        ran = lumos(*arguments, "--json")
        report = result(ran)
        assert ran.code == 3
        assert report["items"].keys() <= {"done", "owed"} and "infra_error" not in report["endings"]
        waits = [line for line in ran.err.splitlines() if " waits" in line]
        assert len(waits) > 1 and all(f"127.0.0.1:{server.port}" in line and status in line for line in waits)
        assert "gave up after 2 s without an answer: " in ran.err
        assert f"continue with: lumos resume {report['job']}" in ran.err
        assert lumos("report", report["job"]).code == 0  # it has not ended

        server.mode, server.reply = "ok", model
        resumed = lumos("resume", report["job"], "--json")
        assert (resumed.code, result(resumed)["finished"]) == (0, 20)


def test_an_endpoint_that_refuses_from_the_start_is_given_up_too(lumos, monkeypatch):
    monkeypatch.setattr("workers.patience.GIVE_UP_SECONDS", 1.0)
    with FakeEndpoint(Model()) as server:
        monkeypatch.setenv("LUMOS_BROKER_URL", "redis://127.0.0.1:9/0")
        arguments = ["evaluate", "wordmath", "--limit", "2", "--planner", server.tgi, "--grounder", server.tgi]
        job = lumos(*arguments).out.strip()
        monkeypatch.delenv("LUMOS_BROKER_URL")
        monkeypatch.setattr(server, "about", lambda path: (404, {}))
        ran = lumos("resume", job, "--json")
    assert ran.code == 3
    assert f"job {job} waits: " in ran.err and f"continue with: lumos resume {job}" in ran.err
    assert result(ran)["items"] == {"owed": 2}
