"""The artwork and the travel report from the command line: shown, refused, approved, killed while waiting, rated."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from db.engine.connection import Database, open_database
from lumos_queue.cli.main import main
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.kills.killed_child import end_sessions
from tests.open_ended_models import LISTS, POEM, reply
from tests.open_ended_runs import read_everything
from tests.terminal import Terminal

Lumos = Callable[..., SimpleNamespace]
NOTE = "Add music, and look up how to compose the picture."


@pytest.fixture
def environment(tmp_path, monkeypatch) -> dict[str, str]:
    values = {
        "LUMOS_HOME": str(tmp_path),
        "LUMOS_USER": "ann",
        "COLUMNS": "80",
        "LUMOS_POLL_SECONDS": "0.05",
        "LUMOS_HEARTBEAT_SECONDS": "0.2",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return values


@pytest.fixture
def lumos(environment, capsys) -> Lumos:
    """Run a command without a terminal; with --json also gives the object that it prints."""

    def run(*arguments: str) -> SimpleNamespace:
        code = main(arguments)
        out, err = capsys.readouterr()
        found = json.loads(out.splitlines()[-1]) if "--json" in arguments else {}
        return SimpleNamespace(code=code, out=out, err=err, json=found)

    return run


@pytest.fixture
def server() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(reply) as one:
        yield one


@pytest.fixture
def database(tmp_path, environment) -> Iterator[Database]:
    opened = open_database(Settings(home=tmp_path).database)
    yield opened
    opened.close()


def request(server: FakeEndpoint, *more: str) -> list[str]:
    models = ["--planner", server.tgi, "--role", f"policy={server.tgi}", "--tool", "experts=own"]
    return ["evaluate", "open_ended", "--formulation", "open-ended", *models, *more]


def job_of(lumos: Lumos) -> str:
    return lumos("jobs", "--json").json["jobs"][0]["job"]


def test_without_a_terminal_each_step_is_a_command(lumos, server, database, tmp_path):
    made = lumos(*request(server))
    job = job_of(lumos)
    assert made.code == 3 and f"job {job}: 2 plans wait for approval: lumos approve {job}" in made.err
    assert f"Once it is answered, continue with: lumos resume {job}" in made.err
    assert "waiting: 2 plans wait for" in lumos("jobs").out
    assert "waiting for approval" in lumos("report", job).out

    shown = lumos("approve", job, "--list", "--json").json["waiting"]
    first = [LISTS["artwork"][0], LISTS["report"][0]]
    assert [plan["shown"].count("\n") + 1 for plan in shown] == [len(lines) for lines in first]
    listed = lumos("approve", "--list").out
    assert "1. Find out about Ombry with search" in listed and f"lumos approve {job}-1 --no" in listed
    assert "not answered" in lumos("show", f"{job}-0").out

    refused = lumos("approve", f"{job}-0", "--no", "--note", NOTE)
    assert refused.out == f"ann refuses the plan of {job}-0\n" and f"lumos resume {job}" in refused.err
    assert lumos("approve", f"{job}-1", "--as", "ben", "--json").json["who"] == "ben"
    asked = server.count
    assert lumos("resume", job).code == 3, "the artwork's second plan waits"
    assert server.count > asked
    assert lumos("approve", job).out == f"ann approves the plan of {job}-0\n"
    assert lumos("resume", job).code == 0
    assert max(Counter(call["sha256"] for call in server.calls).values()) == 1

    told = lumos("show", f"{job}-0").out
    for words in ("the list is shown", "refused by ann: Add", "approved by ann", "4. Compose music", "compose_melody"):
        assert words in told, words
    saved = lumos("show", f"{job}-0", "--save", str(tmp_path / "made"), "--json").json["saved"]
    assert [one.partition("-")[2] for one in saved] == [
        "text-to-image-generation-000.png",
        "poem_txt-000.txt",
        "melody_wav-000.wav",
    ]
    assert (tmp_path / "made" / saved[1]).read_text() == POEM
    found = read_everything(database, job)
    assert next(row[6:] for row in found["approvals"] if row[0] == 0) == ("no", NOTE, "ann")
    [artwork, report] = found["episodes"].values()
    assert (artwork["ending"], report["ending"]) == ("answered", "answered")
    assert artwork["scores"][1][:4] == ("lines_done", "1", 1.0, "5 of 5")
    assert [score[0] for score in report["scores"]] == ["calls_succeeded", "lines_done"]


def test_ratings_are_labels_beside_right_and_wrong(lumos, server):
    assert lumos(*request(server, "--yes")).code == 0
    job = job_of(lumos)
    assert "ratings" not in lumos("report", job, "--json").json
    for rating in ("0", "11", "7.5", "seven", ""):
        refused = lumos("rate", f"{job}-0", rating)
        assert refused.code == 2 and "from 1 to 10" in refused.err
    for episode, rating, who in ((0, "3", "ann"), (0, "8", "ann"), (0, "6", "ben"), (1, "10", "ann")):
        assert lumos("rate", f"{job}-{episode}", rating, "--as", who, "--note", "so it is").code == 0
    assert lumos("label", f"{job}-1", "wrong").code == 0
    report = lumos("report", job, "--json").json
    low, high = report["ratings"].pop("ci95")
    assert report["ratings"] == {"mean": 8.5, "rated": 2, "of": 2, "people": 2} and 1 < low < 8.5 < high < 10
    assert report["plans"] == {"approved": 2, "refused": 0, "unanswered": 0}
    assert "8.5 [" in lumos("report", job).out and "2 of 2 rated" in lumos("report", job).out

    def with_(where: str) -> list[str]:
        return [one["episode"] for one in lumos("episodes", job, "--where", where, "--json").json["episodes"]]

    assert with_("rating>=8") == [f"{job}-0", f"{job}-1"] and with_("rating=10 label=wrong") == [f"{job}-1"]
    assert with_("rating<4") == [], "ann's first rating was replaced"
    shown = lumos("show", f"{job}-1").out
    assert "ann rates it 10 of 10: so it is" in shown and "ann says: wrong" in shown
    assert "labelled" in lumos("rm", job).err and lumos("rm", job, "--with-labels", "--yes").code == 0


def test_at_a_terminal_a_person_is_asked_and_a_kill_while_it_waits_changes_nothing(
    lumos, server, database, environment, tmp_path
):
    whole = Terminal(request(server), environment)
    whole.expect("Approve this plan? [y/n]")
    assert "1. Paint the lighthouse with text_to_image_generation" in whole.text
    whole.type("maybe")
    whole.expect("Approve this plan? [y/n]")
    whole.type("n")
    whole.expect("What should be changed?")
    whole.type(NOTE)
    whole.expect("Approve this plan? [y/n]")
    whole.type("y")
    whole.expect("(plan 2)")
    whole.expect("Approve this plan? [y/n]")  # what is typed before the question counts for nothing
    whole.type("y")
    assert whole.wait() == 0, whole.text
    job = job_of(lumos)
    expected, asked = read_everything(database, job), Counter(call["sha256"] for call in server.calls)
    assert "items with a result" in whole.text

    server.calls.clear()
    killed = Terminal(request(server, "--again"), environment)
    killed.expect("Approve this plan? [y/n]")
    killed.kill()
    again = job_of(lumos)
    assert again != job and lumos("approve", f"{again}-0", "--no", "--note", NOTE).code == 0  # the kill is not noticed
    end_sessions(Settings(home=tmp_path))
    second = Terminal(["resume", again], environment)
    second.expect("Approve this plan? [y/n]")  # the report's first plan, or the artwork's second
    second.kill()
    assert lumos("approve", again).code == 0
    end_sessions(Settings(home=tmp_path))
    assert lumos("resume", again).code in (0, 3)
    lumos("approve", again)
    assert lumos("resume", again).code == 0
    assert read_everything(database, again) == expected
    assert Counter(call["sha256"] for call in server.calls) == asked, "no model was asked twice"


def test_a_plan_that_is_answered_elsewhere_is_not_asked_for_any_more(lumos, server, environment):
    terminal = Terminal(request(server), environment)
    terminal.expect("Approve this plan? [y/n]")
    job = job_of(lumos)
    assert lumos("approve", job, "--as", "ben").err == "", "a worker is alive"
    terminal.expect("was answered elsewhere")
    assert terminal.wait() == 0, terminal.text


def test_what_was_typed_before_the_plan_is_shown_approves_nothing(lumos, server, environment):
    terminal = Terminal(request(server), environment)
    terminal.type("y")
    terminal.expect("Approve this plan? [y/n]")
    assert "waiting: 2 plans wait for" in lumos("jobs").out
    terminal.type("y")
    terminal.expect("Approve this plan? [y/n]")
    terminal.type("y")
    assert terminal.wait() == 0, terminal.text


def test_what_cannot_be_answered_is_one_clear_line(lumos, server):
    assert lumos("approve").err.startswith("lumos: Name a JOB or an EPISODE to approve")
    lumos(*request(server))
    assert "No job has an id" in lumos("approve", "nosuchjob").err
    job = job_of(lumos)
    for arguments, words in (
        ((f"{job}-7",), "has no episode 7"),
        ((f"{job}-x",), "names no episode"),
        ((f"{job}-0", "--note", "but"), "add --no, or leave out --note"),
        ((job, "--list", "--no"), "answers nothing"),
        ((job, "--as", " "), "not the name of a person"),
        ((job, "--no", "--note", "x" * 10_001), "has 10,001 characters"),
    ):
        refused = lumos("approve", *arguments)
        assert refused.code == 2 and words in refused.err and refused.err.count("\n") == 1, refused.err
    assert len(lumos("approve", job, "--list", "--json").json["waiting"]) == 2, "nothing was answered"
    assert lumos("approve", f"{job}-0").code == 0
    late = lumos("approve", f"{job}-0")
    assert late.code == 2 and f"The plan of {job}-0 was approved by ann before" in late.err
    lumos("cancel", job)
    assert "it is cancelled" in lumos("approve", job).err
    assert "leave out --yes" in lumos("evaluate", "wordmath", "--agent", "starter", "--yes").err
    assert "has not ended" in lumos("rate", f"{job}-0", "5").err
