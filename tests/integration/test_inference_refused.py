"""Evaluations: the same wrong value is refused with the same sentence by the command line, Python, a sweep and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lumos_queue as lq
from lumos_queue.errors import SpecError
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.serialization import from_json
from lumos_queue.sweeps.plan import read_plan

COUNT = "expected a whole number from {} to 2,147,483,647."
LEAST = "expected a number of at least 0."
#: Flag, field, value, and what was expected.
VALUES: list[tuple[str, str, Any, str]] = [
    ("--limit", "limit", -1, COUNT.format(0)),
    ("--limit", "limit", 2**31, COUNT.format(0)),
    ("--limit", "limit", 2.5, COUNT.format(0)),
    ("--limit", "limit", "many", COUNT.format(0)),
    ("--samples", "samples", 0, "expected a whole number from 1 to 1,000."),
    ("--samples", "samples", 1001, "expected a whole number from 1 to 1,000."),
    ("--seed", "seed", -3, COUNT.format(0)),
    ("--seed", "seed", "x", COUNT.format(0)),
    ("--temperature", "temperature", -0.5, LEAST),
    ("--temperature", "temperature", float("nan"), LEAST),
    ("--temperature", "temperature", float("inf"), LEAST),
    ("--temperature", "temperature", "warm", LEAST),
    ("--top-p", "top_p", 1.5, "expected a number from 0 to 1."),
    ("--top-p", "top_p", -1, "expected a number from 0 to 1."),
    ("--max-tokens", "max_tokens", 0, COUNT.format(1)),
    ("--max-tokens", "max_tokens", 2**40, COUNT.format(1)),
    ("--max-subgoals", "max_subgoals", 1001, "expected a whole number from 0 to 1,000."),
    ("--max-subgoals", "max_subgoals", -1, "expected a whole number from 0 to 1,000."),
    ("--shots", "shots", -1, COUNT.format(0)),
    ("--shots", "shots", 0.5, COUNT.format(0)),
    ("--draw", "draw", -1, COUNT.format(0)),
    ("--sets", "sets", 101, "expected a whole number from 0 to 100."),
    ("--sets", "sets", "all", "expected a whole number from 0 to 100."),
    ("--votes", "votes", 100, "expected a whole number from 0 to 99."),
    ("--price-prompt", "price_prompt", -1, LEAST),
    ("--price-completion", "price_completion", float("inf"), LEAST),
    ("--budget", "budget", -2, LEAST),
    ("--budget", "budget", "dear", LEAST),
]
SWEPT = [row for row in VALUES if row[1] in ("limit", "max_tokens")]
PLAN = 'title = "t"\nseeds = [0]\nformulations = ["cot"]\n[annotations.gold]\nconvert = "wordmath"\n[[benchmarks]]\n'


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def message_of(function: Callable[[], object]) -> str:
    with pytest.raises(SpecError) as error:
        function()
    return str(error.value)


@pytest.mark.parametrize(("flag", "field", "value", "expectation"), VALUES)
def test_the_command_line_python_and_json_refuse_a_value_with_the_same_sentence(
    lumos, home, flag, field, value, expectation
):
    ran = lumos("evaluate", "wordmath", flag, str(value))
    assert (ran.code, ran.out, ran.err) == (2, "", f"lumos: {flag} is {value!r}: {expectation}\n")
    assert message_of(lambda: lq.evaluate("wordmath", **{field: value})) == f"{field}= is {value!r}: {expectation}"
    document = {"version": 1, "benchmark": "wordmath", field: value}
    assert message_of(lambda: from_json(InferenceRequest, document)) == f"{field} is {value!r}: {expectation}"
    assert not home.exists(), "nothing is stored"


@pytest.mark.parametrize(("flag", "field", "value", "expectation"), SWEPT)
def test_a_sweep_refuses_a_value_with_the_same_sentence(tmp_path, flag, field, value, expectation):
    (tmp_path / "sweep.toml").write_text(f'{PLAN}name = "wordmath"\n{field} = {json.dumps(value)}\n')
    assert f"{field} is {value!r}: {expectation}" in message_of(lambda: read_plan(tmp_path / "sweep.toml"))


@pytest.mark.parametrize("field", ["priority", "concurrency"])
def test_the_scheduling_of_a_job_is_refused_in_the_callers_spelling(lumos, field):
    ran = lumos("evaluate", "wordmath", f"--{field}", str(2**40))
    assert f"--{field} is {2**40}: expected a whole number from" in ran.err
    message = message_of(lambda: lq.evaluate("wordmath", **{field: 2**40}))
    assert message.startswith(f"{field}= is {2**40}: expected a whole number from")


def test_relations_between_options_have_the_spelling_of_the_caller(lumos):
    solver = {"formulation": "direct", "solver": "tgi://127.0.0.1:9"}
    ran = lumos("evaluate", "wordmath", "--formulation", "direct", "--solver", solver["solver"], "--sets", "2")
    assert ran.err == "lumos: --sets is the number of sample sets: also give their size with --draw.\n"
    message = message_of(lambda: lq.evaluate("wordmath", sets=2, **solver))
    assert message == "sets= is the number of sample sets: also give their size with draw=."
    assert message_of(lambda: lq.evaluate("wordmath", live=True, replay="k3f9", **solver)) == (
        "Give either live= or replay= JOB, not both."
    )
