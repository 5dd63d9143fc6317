"""Episodes with native tool calls: the same records as of text calls, from requests as OpenAI's interface has them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.queries.filters import Filter, Term
from db.queries.trajectories import StoredEpisode, stream_episodes
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.cli.main import main
from lumos_queue.compat.toolbench.stored_steps import decisions_of
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.tool_agent import NO_ACTION, NO_CALL
from lumos_queue.records import Completion, Execution, Task
from lumos_queue.submission.store import Rows, submit
from tests import tool_apis
from tests.fake_endpoint import FakeEndpoint
from tests.integration.made_builds import make, rows_in
from tests.kills.killed_child import end_sessions, make_settings, work_and_die
from tests.native_models import NativeServer, as_message, function_call
from tests.stored_rows import run_embedded
from tests.tool_scripts import call, finish, give_up

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # a child uses no thread of this process

LATEST, OFFICES = tool_apis.LATEST_NAME, tool_apis.OFFICES_NAME
SUCCESS = json.dumps({"status": "success", "aim": "where it is", "answer": "in Ombry"})
REPLIES = {  # of the role that calls functions
    "react": [
        call(LATEST, "look it up", parcelid="P1"),
        call("no_such", "try this"),
        "I wonder.",
        "Action: please call it now",
        "",
        f"Action: {LATEST}\nAction Input: {{oops",
        call(OFFICES, town="Ombry"),
        finish("in Ombry", "known"),
    ],
    "dfsdt": [
        call(LATEST, "look it up", parcelid="P1"),
        give_up("no way"),
        call(OFFICES, "another way", town="Ombry"),
        finish("in Ombry"),
    ],
    "sum2act": [
        call(LATEST, "look it up", parcelid="P1"),
        "I wonder.",
        "Action: please call it now",
        call(OFFICES, town="Ombry"),
        finish("in Ombry"),
    ],
}
CALLERS = {"react": "policy", "dfsdt": "policy", "sum2act": "router"}


def task(row: str = "7") -> Task:
    inputs = {**tool_apis.TASK.inputs, "answers": [tool_apis.record(), tool_apis.record("Offices", {"town": "Ombry"})]}
    return Task("toolbench", "d", row, "Where is parcel P1?", inputs, {"relevant": []})


def job_of(formulation: str, url: str, manager: str, **settings: str) -> tuple[Evaluate, Rows]:
    loaded = FORMULATIONS.load(formulation)
    roles = {role: url if role == CALLERS[formulation] else manager for role in loaded.roles}
    limits = replace(loaded.limits, depth=40 if loaded.limits.depth else 0)
    agent = Agent(roles, "tools", samplings=loaded.samplings, limits=limits, settings=settings)
    rows = Rows(open_benchmark("toolbench"), "train", "d", (task(),), ())
    return Evaluate(Infer("toolbench", "d", "train", formulation, agent)), rows


def played(
    folder: Path, formulation: str, caller: FakeEndpoint, **settings: str
) -> tuple[Database, str, StoredEpisode]:
    """The episode that a server's model makes; the state manager's succeeds each time."""
    with FakeEndpoint(lambda prompt: SUCCESS) as manager:
        database, job = run_embedded(folder, *job_of(formulation, caller.chat, manager.tgi, **settings))
    (episode,) = stream_episodes(database, Filter((Term("job", "=", job),)))
    return database, job, episode


def by_text(replies: Sequence[str]) -> FakeEndpoint:
    following = iter(replies)
    return FakeEndpoint(lambda prompt: next(following), keep_bodies=True)


def by_calls(replies: Sequence[str]) -> NativeServer:
    return NativeServer([as_message(reply) for reply in replies])


def facts(episode: StoredEpisode) -> list[Any]:
    """What an episode says, but for its prompts: replies, calls and their results."""
    return [
        done.text if isinstance(done, Completion) else (step.detail, done.status, done.result)
        for step in episode.steps
        if isinstance(done := step.result, Completion | Execution)
    ]


def tools_sent(server: FakeEndpoint) -> list[list[str]]:
    return [[one["function"]["name"] for one in body.get("tools", ())] for body in server.bodies]


@pytest.mark.parametrize("formulation", REPLIES)
def test_records_decisions_and_builds_are_those_of_text_calls(formulation, tmp_path):
    replies, made, form = REPLIES[formulation], {}, FORMULATIONS.load(formulation).answer_files.form
    for calls, server in (("text", by_text(replies)), ("native", by_calls(replies))):
        with server:
            settings = {"calls": calls} if calls == "native" else {}
            database, job, episode = played(tmp_path / calls, formulation, server, **settings)
        assert (episode.ending, episode.answer) == ("answered", "in Ombry")
        names = [LATEST, OFFICES, "Finish"] if calls == "native" else []
        assert tools_sent(server) == [names] * len(replies)
        build = tmp_path / f"{calls} build"
        written = make(database, build, where=f"job={job}", format="trl-sft", formulations=(formulation,))
        rows = {file["file"]: rows_in(build / file["file"]) for file in written["files"]}
        decisions = decisions_of(form, CALLERS[formulation], episode.steps, VERSION)
        made[calls] = facts(episode), decisions, rows
        if isinstance(server, NativeServer):
            assert server.wrong == []
            prompts = [step.prompt for step in episode.steps if step.role == CALLERS[formulation]]
            assert not any("Functions:" in one or "three lines" in one or NO_ACTION in one for one in prompts)
            assert "I wonder." not in replies or any(NO_CALL in one for one in prompts)
    assert made["native"] == made["text"]


def test_a_text_job_sends_what_it_sent_before(tmp_path):
    """Without functions, with the fields of a text; an empty reply is requested again without stop strings."""
    with by_text(REPLIES["react"]) as server:
        played(tmp_path, "react", server, calls="text")
    fields = {"model", "messages", "max_tokens", "temperature"}
    assert all(body.keys() - {"stop"} == fields for body in server.bodies)


def test_the_history_is_tool_messages(tmp_path):
    with by_calls(REPLIES["dfsdt"]) as server:
        played(tmp_path, "dfsdt", server, calls="native")
    roles = [[message["role"] for message in body["messages"]] for body in server.bodies]
    assert roles == [
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
        ["system", "user"],
        ["system", "user", "assistant", "tool"],
    ]
    assert "not the first try" in server.bodies[2]["messages"][1]["content"]


@pytest.mark.parametrize("formulation", ["react", "sum2act"])
def test_of_several_calls_the_first_runs_and_the_model_is_informed(formulation, tmp_path):
    calls = [function_call(LATEST, '{"parcelid": "P1"}'), function_call(OFFICES), function_call("Finish")]
    first = {"content": "all at once", "tool_calls": calls}
    messages = [first, *map(as_message, (call(OFFICES, town="Ombry"), finish("in Ombry")))]
    with NativeServer(messages) as server:
        _, _, episode = played(tmp_path, formulation, server, calls="native")
    names = [step.detail.name for step in episode.steps if isinstance(step.result, Execution) and step.branch < 1000]
    assert names == [LATEST, OFFICES, "Finish"] and server.wrong == []
    sent = [json.dumps(body["messages"]) for body in server.bodies]
    informed = ["Only the first call of your reply was made. The 2 other calls were not" in one for one in sent]
    assert informed == [False, True, formulation == "react"], "a router has no history: it is sent this once"


@pytest.mark.parametrize("text", ["I wonder.", "", "<tool_call>{oops</tool_call>"])
def test_a_model_that_calls_nothing_is_sent_what_is_expected(text, tmp_path):
    empty = [] if text else [{"content": None}]  # it is requested again without stop strings
    with NativeServer([{"content": text or None}, *empty, as_message(finish("in Ombry"))]) as server:
        _, _, episode = played(tmp_path, "react", server, calls="native")
    assert episode.answer == "in Ombry"
    assert server.bodies[-1]["messages"][2:] == [
        {"role": "assistant", "content": text},
        {"role": "user", "content": NO_CALL},
    ]


@pytest.mark.parametrize("text", ["I wonder.", "", "<tool_call>{oops</tool_call>"])
def test_under_toolbenchs_protocol_a_reply_without_a_call_is_not_answered(text, tmp_path):
    empty = [] if text else [{"content": None}]  # it is requested again without stop strings
    several = {"content": "both", "tool_calls": [function_call(OFFICES, '{"town": "Ombry"}'), function_call(LATEST)]}
    wrong = {"content": None, "tool_calls": [function_call("Finish", '{"final_answer": "in Ombry"}')]}
    messages = [{"content": text or None}, *empty, several, wrong, as_message(finish("in Ombry"))]
    with NativeServer(messages) as server:
        _, _, episode = played(tmp_path, "react", server, calls="native", protocol="toolbench")
    assert (episode.answer, server.wrong) == ("in Ombry", [])
    *_, last = server.bodies
    roles = [message["role"] for message in last["messages"]]
    assert roles == ["system", "user", "assistant", "assistant", "tool", "assistant", "tool"]
    assert last["messages"][2] == {"role": "assistant", "content": text}
    first, second = (json.loads(last["messages"][index]["content"]) for index in (4, 6))
    assert first == {"error": "", "response": "there"} and "return_type" in second["error"]


@pytest.mark.parametrize("formulation", REPLIES)
def test_after_a_kill_no_call_is_repeated(formulation, tmp_path):
    """Killed after each number of steps; two calls in a reply are still known of after the kill."""
    replies = [as_message(reply) for reply in REPLIES[formulation]]
    replies[0]["tool_calls"].append(function_call("Finish"))
    calls = len(replies)
    for least in (1, 2, 5):
        home = tmp_path / str(least)
        home.mkdir()
        settings = make_settings(home)
        with ExitStack() as stack:
            server = stack.enter_context(NativeServer([json.loads(json.dumps(one)) for one in replies]))
            manager = stack.enter_context(FakeEndpoint(lambda prompt: SUCCESS))
            database = open_database(settings.database)
            upgrade(database)
            job, _ = submit(database, settings, *job_of(formulation, server.chat, manager.tgi, calls="native"))
            database.close()
            assert work_and_die(settings, job, home / "log", least) == -9
            before = server.count
            end_sessions(settings)
            assert work_and_die(settings, job, home / "log", None) == 0
            assert before < calls == server.count and server.wrong == []
        database = open_database(settings.database)
        (episode,) = stream_episodes(database, Filter((Term("job", "=", job),)))
        database.close()
        assert (episode.answer, episode.attempt) == ("in Ombry", 1)
        assert any("Only the first call" in json.dumps(body["messages"]) for body in server.bodies)


JINJA = b'{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}'


def evaluate(*options: str) -> int:
    return main(["evaluate", "toolworld", "--split", "I1-inst", "--limit", "1", *options])


@pytest.mark.parametrize("status", [400, 500])
def test_a_server_without_tool_calls_is_one_line_with_what_to_do(status, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    monkeypatch.setattr("workers.patience.GIVE_UP_SECONDS", 0.0)
    with NativeServer(lambda body: (status, JINJA)) as server:
        code = evaluate("--formulation", "react", "--setting", "calls=native", "--role", f"policy={server.chat}")
        lines = [line for line in capsys.readouterr().err.splitlines() if "--jinja flag" in line]
        assert code != 0 and len(server.calls) <= 3
    assert lines and "--setting calls=text" in lines[-1] and "takes no functions" in lines[-1]


@pytest.mark.parametrize(("formulation", "role"), [("react", "policy"), ("dfsdt", "policy"), ("sum2act", "router")])
def test_other_schemes_are_refused_when_a_job_is_submitted(formulation, role, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    with FakeEndpoint(lambda prompt: finish("x")) as server:
        manager = ("--role", f"state_manager={server.tgi}") if formulation == "sum2act" else ()
        for url in (server.tgi, server.openai):
            asked = ("--formulation", formulation, "--setting", "calls=native", "--role", f"{role}={url}", *manager)
            assert evaluate(*asked) == 2
            (line,) = [one for one in capsys.readouterr().err.splitlines() if one.startswith("lumos: ")]
            assert f"--role {role}=chat://" in line and "--setting calls=native" in line
        assert server.count == 0


@pytest.mark.parametrize(
    ("formulation", "role", "setting", "message"),
    [
        ("react", "policy", "calls=json", "The setting calls must be one of text, native, not 'json'."),
        ("rewoo", "planner", "calls=native", "--setting calls must be a whole number from 0 to"),
        ("react", "policy", "calls=-1", "--setting calls must be a whole number from 0 to"),
    ],
)
def test_other_settings_are_refused(formulation, role, setting, message, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    with FakeEndpoint(lambda prompt: finish("x")) as server:
        assert evaluate("--formulation", formulation, "--setting", setting, "--role", f"{role}={server.chat}") == 2
    assert message in capsys.readouterr().err
