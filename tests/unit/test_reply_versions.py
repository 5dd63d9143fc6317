"""Replies of tool agents in jobs of earlier versions of the formulations, and exact lines in all versions."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import Ask
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.tool_agent import NO_ACTION
from lumos_queue.records import FinishReason, Task
from lumos_queue.three_lines import read_reply
from performance.toolworld.policies import Policies
from performance.toolworld.running import run_once
from tests.unit.test_marked_calls import OSLO, PRETTY, READ, play


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", ["react", "dfsdt", "sum2act"])
def test_jobs_of_earlier_versions_read_as_they_did(name, version):
    script = play(f"Thought: look\nAction: weather\nAction_Input: {OSLO}", name, version)
    assert script.calls[0] == ("weather", "")
    script = play(READ["bold"], name, version)
    assert [one for one, _ in script.calls] == ["Finish"]
    assert NO_ACTION in script.prompts("router" if name == "sum2act" else "policy")[1]
    assert play("Action: weather", name, version, FinishReason.LENGTH).calls[0] == ("weather", "")


def gold_replies() -> list[str]:
    """Replies of ToolWorld's scripted policies, the right ones and those with mistakes."""
    rows = open_benchmark("toolworld").read(None, "train", faults="0.8", traps="0.5")
    tasks = [task for task in islice(rows, 12) if isinstance(task, Task)]
    replies = []
    for name, noise in (("react", 0.0), ("react", 0.5), ("sum2act", 0.2)):
        for task in tasks:
            _, journal = run_once(task, name, Policies(0, noise))
            replies += [
                step.result.text
                for step in journal.steps
                if isinstance(step.command, Ask) and step.command.role in ("policy", "router")
            ]
    return list(dict.fromkeys(replies))


def test_exact_lines_are_read_alike_in_all_versions():
    """Gold replies, and these with other thoughts, blanks, arguments and texts behind them."""
    rng = random.Random(45)
    thoughts = [
        "",
        "Thought: a\nb\n",
        "Thought: **bold** and `code`\n",
        "I look.\n",
        "Thought: 1. one\n2. two\n- three\n",
        'Thought: it returned {"name": "x"}.\n',
        "Observation: 7\nThought: a\n",
        "thought : é\n",
        "\n\n",
    ]
    behind = ["", "\n", " and so on", "\nObservation: ok\nThought: x\nAction: erase\nAction Input: {}", "\n\n"]
    arguments = [
        "{}",
        "",
        OSLO,
        PRETTY,
        "not JSON",
        "not JSON\nat all",
        '{"a": "x\nAction: erase\nAction Input: {}"}',
        '{"final_answer": "He said "no".", "return_type": "give_answer"}',
        '{"a": [1, {"b": null}]}',
        "[1]",
        '{"a": 1',
    ]
    replies = gold_replies()
    assert len(replies) > 100
    for reply in replies:
        assert read_reply(reply) == read_reply(reply, 2) and read_reply(reply).action
        _, _, lines = reply.rpartition("Action: ")
        name = lines.partition("\n")[0]
        for _ in range(20):
            text = f"{rng.choice(thoughts)}Action: {name}\nAction Input: {rng.choice(arguments)}{rng.choice(behind)}"
            assert read_reply(text) == read_reply(text, 1) == read_reply(text, 2), text


def test_versions_are_those_of_the_formulations():
    for name in ("react", "dfsdt", "sum2act", "rewoo", "open-ended"):
        formulation = FORMULATIONS.load(name)
        assert formulation.versioned and formulation.at_version(2) is not formulation.generator
