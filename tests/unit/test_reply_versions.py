"""Replies of tool agents in jobs of earlier versions of the formulations, and exact lines in all versions."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import pytest

from db.journal.step_records import RecordedStep
from db.queries.tool_figures import SerialStep
from experiments.toolworld.memory_run import run_once
from experiments.toolworld.policies import Policies
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import KEPT_DIGITS, Ask, Do, write_answer
from lumos_queue.compat.toolbench.answer_reading import answer_file_of
from lumos_queue.compat.toolbench.trees import ROOT, RecordedDecision
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.tool_agent import NO_ACTION
from lumos_queue.records import Completion, FinishReason, Task
from lumos_queue.reports.state_manager import StepCounts, _count_episode
from lumos_queue.review.task_states import rebuild_states
from lumos_queue.searches.answer_episodes import build_recorded_episode
from lumos_queue.text_calls.three_lines import read_reply
from lumos_queue.util.exchange import Exchange
from tests.answer_files import chain_file
from tests.tool_scripts import TASK, Scripted, call, finish, run
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
                if isinstance(step.command, Ask)
                and step.command.role in ("policy", "router")
                and isinstance(step.result, Completion)
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
    behind += ["\nAction: erase\nAction Input: {}"]
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


def test_a_policy_of_a_to_do_list_reads_as_the_version_of_its_job():
    def calls(version: int) -> list[str]:
        script = Scripted(
            {"planner": ["1. Look"], "policy": [READ["bold"], finish("fine")]},
            {"weather": lambda city: "mild"},
            [write_answer(True, "", "ann")],
        )
        run("open-ended", script, version=version)
        return [name for name, _ in script.calls]

    assert calls(2) == ["Finish"] and calls(3) == ["weather", "Finish"]


def test_imported_searches_are_read_as_the_first_version():
    """A thought with a marked call was no call in the recorded search."""
    decisions = [RecordedDecision(ROOT, READ["bold"]), RecordedDecision(0, "so", "weather", OSLO, "mild", 0)]
    file = replace(answer_file_of("7_CoT@1.json", chain_file()), decisions=decisions, chosen=None)
    _, steps, _ = build_recorded_episode(file, "d")
    assert [step.command.action.name for step in steps if isinstance(step.command, Do)] == ["weather"]


def sum2act_steps(version: int) -> list[RecordedStep]:
    script = Scripted({"router": [READ["bold"], call("weather"), finish("x")], "state_manager": ["?"]}, {})
    formulation = FORMULATIONS.load("sum2act")
    exchange = Exchange(formulation.at_version(version)(TASK, Agent({}, "maths", limits=formulation.limits)))
    steps = []
    for position, command in enumerate(exchange):
        assert isinstance(command, Ask | Do)
        exchange.reply = script.answer(command)
        steps.append(RecordedStep(position, 0, command.digest[:KEPT_DIGITS], exchange.reply))
    return steps


@pytest.mark.parametrize("version", [2, 3])
def test_states_are_made_again_as_the_version_of_the_job_reads(version):
    steps, agent = sum2act_steps(version), Agent({}, "maths", limits=FORMULATIONS.load("sum2act").limits)
    state = FORMULATIONS.load("sum2act").state
    assert state is not None
    assert len(rebuild_states(state, TASK, agent, steps, version)) > 1
    with pytest.raises(SpecError, match="other code recorded step"):
        rebuild_states(state, TASK, agent, steps, 5 - version)


@pytest.mark.parametrize(
    ("reply", "reason", "repairs"),
    [
        (READ["bold"], "stop", {2: 1, 3: 0}),
        ("Action: weather", "stop", {2: 0, 3: 0}),
        ("Action: weather", "length", {2: 0, 3: 1}),
    ],
)
def test_repairs_are_counted_as_the_version_of_the_job_reads(reply, reason, repairs):
    for version, count in repairs.items():
        steps = [SerialStep(1, 1, 0, "router", reply, reason), SerialStep(1, 1, 1, "router", call("weather"), "stop")]
        counts = StepCounts()
        _count_episode(counts, steps, True, "append", version, bool)
        assert counts.router.repairs == count
