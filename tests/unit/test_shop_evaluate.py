"""`lumos evaluate webshop`: whole jobs with a scripted planner and grounder behind a real server; no model."""

from __future__ import annotations

import json
import re

import pytest

from lumos_queue.benchmarks.webshop.benchmark import benchmark
from lumos_queue.benchmarks.webshop.tasks import goals
from lumos_queue.cli.main import main
from lumos_queue.prompts.demonstrations.webshop import DEMONSTRATIONS
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies

ROLES = ("planner", "grounder")


@pytest.fixture
def evaluate(tmp_path, monkeypatch, capsys):
    """Run an evaluation in a home of its own; returns the report it prints."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))

    def run(server: FakeEndpoint, *arguments: str) -> dict:
        roles = [part for role in ROLES for part in (f"--{role}", server.tgi)]
        assert main(("evaluate", "webshop", "--max-subgoals", "6", *roles, *arguments, "--json")) == 0
        return json.loads(capsys.readouterr()[0].splitlines()[-1])

    return run


def test_gold_through_a_job_earns_everything_on_100_goals(evaluate):
    replies = gold_replies(benchmark, goals("test", 100), "iterative")
    with FakeEndpoint(from_mapping(replies)) as server:
        report = evaluate(server, "--limit", "100", "--shots", "0")
        assert server.count == 1_000  # five subgoals, each planned and grounded once
    assert (report["metric"], report["value"], report["n"]) == ("reward", 1.0, 100)
    assert report["baselines"]["never buys"]["value"] == 0
    assert 0.3 < report["baselines"]["buys the first result"]["value"] < 0.5


def test_who_never_buys_earns_nothing_and_counts(evaluate):
    replies = gold_replies(benchmark, goals("test", 100), "iterative")
    never = {prompt: reply.removesuffix("; R12 = Click(buy now)") for prompt, reply in replies.items()}
    with FakeEndpoint(from_mapping(never, "Subgoal 6: Nothing.")) as server:
        report = evaluate(server, "--limit", "100", "--shots", "0")
    assert (report["value"], report["n"]) == (0.0, 100)


def test_with_demonstrations_in_front_the_same_words_buy_the_same(evaluate):
    """The prompts begin with both demonstrations; the first grounding is primed with `R1 = `."""
    tasks = list(goals("test", 3))
    plain = {}
    for task in tasks:
        for step in benchmark.gold(task).steps:
            line = "; ".join(action.raw for action in step.actions)
            plain[task.question, step.subgoal.number] = (step.subgoal.text, line)

    def reply(prompt: str) -> str:
        assert all(shown.task in prompt for shown in DEMONSTRATIONS)
        last = prompt.rpartition("Task: ")[2]
        (question,) = (task.question for task in tasks if last.startswith(task.question))
        turns = last.count("<|assistant|>")
        subgoal, line = plain[question, turns]
        if "subgoal-based plan" in prompt:
            return subgoal
        return line.removeprefix("R1 = ") if re.search(r"R1 = $", prompt) else line

    with FakeEndpoint(reply) as server:
        report = evaluate(server, "--limit", "3")
    assert (report["value"], report["n"]) == (1.0, 3)
