"""`lumos show` on what was sent: the requests that a server received, and those that are shown, are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select, update

from db.engine.connection import Database, open_database
from db.models import JobRow
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.request_bodies import split_body, write_sampling
from lumos_queue.settings import read_settings
from tests.fake_endpoint import FakeEndpoint
from tests.image_files import honest

HOTPOT = [{"question": "Is the Eiffel Tower higher than the Empire State Building?", "answer": "no"}]
PICTURE = {
    "split": "val",
    "image_id": 7,
    "question_id": "q1",
    "question": "What is on the mat?",
    "correct_choice_idx": 2,
    "choices": ["dog", "shoe", "cat", "cup"],
    "direct_answers": ["cat"] * 10,
}


def body_of(request: dict[str, Any]) -> dict[str, Any]:
    """The body of a request as `lumos show --json` tells it."""
    fields = request["fields"]
    if "functions" in request:
        fields |= {"tools": request["functions"]}
    if "messages" in request:
        return {"messages": request["messages"], **fields}
    if request["url"].startswith("tgi"):
        return {"inputs": request["text"], "parameters": fields}
    return {"prompt": request["text"], **fields}


def shown_bodies(lumos, episode: str, *options: str) -> list[dict[str, Any]]:
    steps = lumos("show", episode, *options, "--json").json["steps"]
    return [body_of(step["request"]) for step in steps if step["prompt"]]


@pytest.fixture
def database(lumos) -> Iterator[Database]:
    opened = open_database(read_settings().database)
    yield opened
    opened.close()


@pytest.mark.parametrize("scheme", ["chat", "openai", "tgi"])
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--temperature", "0.7", "--top-p", "0.9", "--seed", "5", "--samples", "2"),
        ("--max-tokens", "40", "--stop", "###", "--stop", "!", "--framing", "eval"),
        ("--request", "top_k=40", "--request", "temperature=null", "--request", "seed=3"),
    ],
)
def test_a_solver_is_shown_what_its_server_received(lumos, scheme, options):
    with FakeEndpoint(lambda prompt: "The answer is 5", keep_bodies=True) as server:
        url = getattr(server, scheme)
        report = lumos(
            "evaluate", "wordmath", "--formulation", "cot", "--solver", url, "--limit", "2", *options, "--json"
        ).json
    shown = [body for at in range(report["n"]) for body in shown_bodies(lumos, f"{report['job']}-{at}")]
    assert len(shown) == len(server.bodies) == report["n"]
    assert sorted(map(_dump, shown)) == sorted(map(_dump, server.bodies))


def _dump(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True)


def test_each_role_is_shown_with_its_own_address_and_sampling(lumos, tmp_path):
    """A planner of completions, a grounder of text-generation-inference, tools and a judge that chat."""

    def reply(prompt: str) -> str:
        if "subgoal-based plan" in prompt:
            return "No, I will keep planning. Subgoal 1: Compare the heights."
        if "Please ground" in prompt:
            return "R1 = QA([], Question: Is it higher?)"
        return "no"

    data = tmp_path / "rows.json"
    data.write_text(json.dumps(HOTPOT))
    with FakeEndpoint(reply, keep_bodies=True) as server:
        report = lumos(
            "evaluate",
            "hotpotqa",
            "--data",
            data,
            "--formulation",
            "one-pass",
            "--planner",
            server.openai,
            "--grounder",
            server.tgi,
            "--role",
            f"qa={server.chat}",
            "--role",
            f"judge={server.chat}",
            "--sampling",
            "judge.temperature=0.5",
            "--sampling",
            "qa.temperature=0.5",
            "--seed",
            "9",
            "--json",
        ).json
    steps = [step for step in lumos("show", f"{report['job']}-0", "--json").json["steps"] if step["prompt"]]
    assert [step["who"] for step in steps] == ["planner", "grounder", "qa", "judge"]
    assert "within" in steps[2]
    assert [body_of(step["request"]) for step in steps] == server.bodies
    assert {"max_new_tokens", "stop"} <= server.bodies[1]["parameters"].keys()
    seeds = [body["seed"] for body in server.bodies[2:]]
    assert len(set(seeds)) == 2
    assert server.bodies[3]["max_tokens"] == 100 and "stop" not in server.bodies[3]
    assert [step["request"]["url"] for step in steps] == [server.openai, server.tgi, server.chat, server.chat]
    text = lumos("show", f"{report['job']}-0", "--prompts").out
    assert f'{server.chat}: model "fake", max_tokens 100, temperature 0.5, top_p 1.0, seed {seeds[1]}' in text


@pytest.mark.parametrize(("formulation", "role"), [("react", "policy"), ("sum2act", "router")])
def test_functions_are_shown_as_they_were_sent(lumos, formulation, role):
    replies = iter(('{"name": "Finish", "arguments": {"return_type": "give_up_and_restart"}}', "done"))
    with FakeEndpoint(lambda prompt: next(replies), keep_bodies=True) as server:
        others = ("--role", f"state_manager={server.chat}") if formulation == "sum2act" else ()
        report = lumos(
            "evaluate",
            "toolworld",
            "--split",
            "I1-inst",
            "--formulation",
            formulation,
            "--role",
            f"{role}={server.chat}",
            *others,
            "--setting",
            "calls=native",
            "--limit",
            "1",
            "--json",
        ).json
    (body,) = server.bodies
    assert {tool["function"]["name"] for tool in body["tools"]} > {"Finish"}
    assert shown_bodies(lumos, f"{report['job']}-0") == [body]
    assert '"name": "Finish"' in lumos("show", f"{report['job']}-0", "--prompts").out


def test_a_constraint_is_shown_as_it_was_sent(lumos):
    with FakeEndpoint(lambda prompt: "plan 0,", keep_bodies=True) as server:
        report = lumos(
            "evaluate",
            "openagi",
            "--split",
            "labelled",
            "--formulation",
            "model-synthesis",
            "--planner",
            server.openai,
            "--tool",
            "experts=oracle",
            "--option",
            "samples=1",
            "--setting",
            "schema=fine-tuning",
            "--setting",
            "decoding=constrained",
            "--limit",
            "1",
            "--json",
        ).json
    (body,) = server.bodies
    assert body["structured_outputs"]["regex"]
    assert shown_bodies(lumos, f"{report['job']}-0") == [body]


def test_an_image_is_shown_by_its_digest(lumos, tmp_path):
    (tmp_path / "rows.json").write_text(json.dumps([PICTURE]))
    (tmp_path / "000000000007.png").write_bytes(honest())
    options = ["--data", tmp_path / "rows.json", "--option", f"images={tmp_path}", "--split", "val"]
    with FakeEndpoint(lambda prompt: "A cat sleeps.", keep_bodies=True) as server:
        report = lumos(
            "infer", "aokvqa", *options, "--formulation", "caption", "--role", f"captioner={server.chat}", "--json"
        ).json
    (shown,), (body,) = shown_bodies(lumos, f"{report['job']}-0"), server.bodies
    (address,) = {part["image_url"]["url"] for part in shown["messages"][-1]["content"] if part["type"] == "image_url"}
    assert re.fullmatch("sha256:[0-9a-f]{64}", address)
    without_bytes = re.sub('"data:image/png;base64,[^"]+"', json.dumps(address), json.dumps(body))
    assert json.loads(without_bytes) == shown
    assert f"[{address}]" in lumos("show", f"{report['job']}-0", "--prompts").out


def test_a_teacher_is_shown_what_its_server_received(lumos, tmp_path):
    data = tmp_path / "rows.jsonl"
    data.write_text(json.dumps({"question": "How many?", "answer": "It is <<2+3=5>>5\n#### 5"}))
    with FakeEndpoint(lambda prompt: "No.", keep_bodies=True) as server:
        report = lumos("convert", "gsm8k", "--data", data, "--teacher", server.chat, "--json").json
    assert shown_bodies(lumos, f"{report['job']}-0") == server.bodies


def test_a_model_that_the_server_named_is_shown(lumos):
    with FakeEndpoint(lambda prompt: "5", keep_bodies=True) as server:
        options = ["--solver", server.chat.partition("?")[0], "--limit", "1", "--json"]
        report = lumos("evaluate", "wordmath", "--formulation", "direct", *options).json
    assert server.bodies[0]["model"] == "fake"
    assert shown_bodies(lumos, f"{report['job']}-0") == server.bodies


def test_an_endpoint_without_a_server_is_shown_with_its_sampling(lumos, tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text('[{"contains": "", "reply": "5"}]')
    options = ["--solver", f"scripted:{rules}", "--limit", "1", "--temperature", "0.5", "--json"]
    report = lumos("evaluate", "wordmath", "--formulation", "direct", *options).json
    (step,) = lumos("show", f"{report['job']}-0", "--json").json["steps"]
    fields = step["request"]["fields"]
    assert fields.keys() == {"max_tokens", "temperature", "stop", "top_p", "seed"} and fields["stop"] == ["\n"]
    assert step["request"]["text"] == step["prompt"]


def test_a_job_of_a_later_version_shows_its_prompts_alone(lumos, database):
    with FakeEndpoint(lambda prompt: "5") as server:
        options = ["--solver", server.chat, "--limit", "1", "--json"]
        report = lumos("evaluate", "wordmath", "--formulation", "direct", *options).json
    with database.writer.begin() as connection:
        spec = connection.execute(select(JobRow.spec)).scalar_one()
        spec["infer"]["agent"]["unknown"] = 1
        connection.execute(update(JobRow).values(spec=spec))
    (step,) = lumos("show", f"{report['job']}-0", "--json").json["steps"]
    assert "request" not in step
    assert step["prompt"] in lumos("show", f"{report['job']}-0", "--prompts").out


def test_a_search_is_shown_with_its_beams_and_the_seed_of_its_epsilon():
    sampling = Sampling(max_tokens=9, stop=(), beams=4, epsilon=0.1)
    fields = split_body(write_sampling(ModelCall("a plan", sampling, 7))).fields
    assert fields == {"max_tokens": 9, "temperature": 0.0, "beams": 4, "epsilon": 0.1, "seed": 7}
