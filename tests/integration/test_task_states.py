"""`lumos show --state`: what Sum2Act's router knew, made again from what is stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.command_outputs import run

QUERY = [
    {
        "query_id": 7,
        "query": "What is the state of order 17?",
        "relevant APIs": [["Orders", "State"]],
        "api_list": [
            {
                "category_name": "Shop",
                "tool_name": "Orders",
                "api_name": "State",
                "api_description": "An order's state.",
                "required_parameters": [
                    {"name": "number", "type": "NUMBER", "description": "The order.", "default": ""}
                ],
                "optional_parameters": [],
                "method": "GET",
                "template_response": {"state": "str"},
            }
        ],
    }
]
REWRITTEN = {"results": [{"call": 1, "aim": "the state", "answer": "shipped"}], "failures": []}
RULES = [
    {"contains": "You keep the state", "reply": json.dumps(REWRITTEN)},
    {"contains": "You record what", "reply": '{"status": "success", "aim": "the state", "answer": "shipped"}'},
    {"contains": "Results:\n- state_for_orders", "reply": 'Action: Finish\nAction Input: {"Answer": "shipped"}'},
    {"contains": "", "reply": 'Action: state_for_orders\nAction Input: {"number": 17}'},
]


@pytest.fixture
def evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Evaluates the one query by a formulation; gives the job's id."""
    (tmp_path / "queries.json").write_text(json.dumps(QUERY))
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    scripted = f"scripted:{tmp_path / 'rules.json'}"

    def evaluate(formulation: str, *roles: str, settings: str = "") -> str:
        asked = [word for role in roles for word in ("--role", f"{role}={scripted}")]
        asked += ["--setting", settings] if settings else []
        told = run(
            "evaluate",
            "toolbench",
            "--data",
            str(tmp_path / "queries.json"),
            "--split",
            "I1-inst",
            "--formulation",
            formulation,
            "--tool",
            "answers=synthetic",
            *asked,
            "--json",
        )
        assert told.startswith("exit code 0"), told
        return next(json.loads(line) for line in told.splitlines() if line.startswith("{"))["job"]

    return evaluate


@pytest.mark.parametrize("settings", ["", "update=rewrite"])
def test_the_state_before_each_decision(evaluated, settings):
    job = evaluated("sum2act", "router", "state_manager", settings=settings)
    told = run("show", f"{job}-0", "--state", "--json")
    shown = next(json.loads(line) for line in told.splitlines() if line.startswith("{"))
    assert [len(one["results"]) for one in shown["states"]] == [0, 1]
    assert [one["at"] for one in shown["states"]] == [
        step["at"] and int(step["at"]) for step in shown["steps"] if step["who"] == "router"
    ]
    assert shown["states"][1]["results"][0] | {"arguments": ""} == {
        "action": "state_for_orders",
        "arguments": "",
        "aim": "the state",
        "text": "shipped",
    }
    assert (shown["ending"], shown["answer"]) == ("answered", "shipped")
    assert "state before step 0" in run("show", f"{job}-0", "--state")
    assert "states" not in run("show", f"{job}-0", "--json")


def test_other_formulations_have_none(evaluated):
    job = evaluated("react", "policy")
    told = run("show", f"{job}-0", "--state")
    assert told.startswith("exit code 2") and "sum2act" in told


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("wordmath --draw 1 --sets 1 --formulation react --role policy=scripted:x", "brings no functions"),
        (
            "toolbench --split I1-inst --formulation iterative --planner scripted:x --grounder scripted:x",
            "dfsdt, open-ended, react, rewoo, sum2act",
        ),
    ],
)
def test_tool_agents_and_functions_belong_together(words, problem, tmp_path, monkeypatch):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    told = run("evaluate", *words.split())
    assert told.startswith("exit code 2") and problem in told


def test_a_simulator_is_asked_for_when_it_is_needed(evaluated, tmp_path):
    asked = [
        "evaluate",
        "toolbench",
        "--data",
        str(tmp_path / "queries.json"),
        "--split",
        "I1-inst",
        "--formulation",
        "react",
    ]
    told = run(*asked, "--role", f"policy=scripted:{tmp_path / 'rules.json'}", "--tool", "answers=simulated")
    assert told.startswith("exit code 2") and "--role simulator=URL" in told
