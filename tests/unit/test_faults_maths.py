"""Faults of the original in maths evaluation that no other test is about (docs/faults.md)."""

from __future__ import annotations

import asyncio
import json

import pytest

from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.cli.main import main
from lumos_queue.commands import Ask, Do
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.iterative import iterative
from lumos_queue.formulations.one_pass import one_pass
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Outcome, Task

GSM8K = open_benchmark("gsm8k")


def task(question: str, answer: str) -> Task:
    return Task("gsm8k", "digest", "1", question, gold={"answer": answer})


def tried(formulation, planner: list[str], grounder: list[str]) -> tuple[Outcome, MemoryJournal]:
    """An episode by a scripted planner and grounder, with the real tools and the default limits."""

    async def go() -> Outcome:
        interface = MathsActions()
        executor = Executor({"planner": Scripted(planner), "grounder": Scripted(grounder)}, interface, Sampling(), 0)
        question = task("What is asked?", "0")
        try:
            async with executor.for_episode(question, 0) as perform:
                return (
                    await run_episode(formulation, question, Agent(roles={}, domain="maths"), journal, perform)
                ).outcome
        finally:
            await interface.close()

    journal = MemoryJournal()
    return asyncio.run(go()), journal


def plan(subgoals: int) -> list[str]:
    """A planner that has so many subgoals and then says that it stops."""
    first, *others = [f"Subgoal {number}: Do step {number}." for number in range(1, subgoals + 1)]
    return [first, *(f"No, I will keep planning. {one}" for one in others), "Yes, I will stop planning."]


def correct(outcome: Outcome, answer: str) -> float:
    assert outcome.ending == "answered"
    return GSM8K.score(task("What is asked?", answer), EpisodeResult(outcome.answer))[0].value


def test_fault_01_every_action_that_the_prompt_offers_is_carried_out():
    outcome, journal = tried(
        iterative,
        plan(4),
        [
            "R1 = Count(3, 6, ..., 21)",
            "R2 = SolveInequality(2x > 8)",
            "R3 = Code(If R1 > 5, R1, 0)",
            "R4 = Calculator(R3 + 1)",
        ],
    )
    done = [step.result.result for step in journal.steps if isinstance(step.command, Do)]  # type: ignore[union-attr]
    assert done == ["7", "x > 4", "7", "8"] and correct(outcome, "8") == 1


@pytest.mark.parametrize("formulation", [iterative, one_pass])
def test_fault_03_an_answer_of_solve_equation_is_right_in_both_formulations(formulation):
    planner = plan(1) if formulation is iterative else ["Subgoal 1: Solve the equation."]
    outcome, _ = tried(formulation, planner, ["R1 = SolveEquation(x / 2 = 32)"])
    assert outcome.answer == "64" and correct(outcome, "64") == 1


@pytest.mark.parametrize("subgoals", [3, 4, 5, 7])
def test_fault_07_and_11_as_many_subgoals_as_the_limit_allows_and_the_stop_after_them_is_heard(subgoals):
    """The original allowed 2 on SVAMP, and on HotpotQA never heard a stop after the fifth."""
    grounder = ["R1 = Calculator(1 + 0)"]
    grounder += [f"R{number} = Calculator(R{number - 1} + 1)" for number in range(2, subgoals + 1)]
    outcome, journal = tried(iterative, plan(subgoals), grounder)
    assert outcome == Outcome(str(subgoals), "answered") and correct(outcome, str(subgoals)) == 1
    assert sum(isinstance(step.command, Ask) for step in journal.steps) == 2 * subgoals + 1


def test_fault_22_lumos_i_runs_on_gsm8k_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    rows = [
        {
            "question": f"Ed has {n} hats and buys 2. How many hats has he?",
            "answer": f"He has {n}+2=<<{n}+2={n + 2}>>{n + 2} hats.\n#### {n + 2}",
        }
        for n in (4, 7)
    ]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    planner = [
        {"contains": "Should we stop planning?", "reply": "Yes, I will stop planning."},
        {"contains": "", "reply": "Subgoal 1: Add the hats."},
    ]
    grounder = [{"contains": f"Ed has {n} hats", "reply": f"R1 = Calculator({n} + 2)"} for n in (4, 7)]
    (tmp_path / "planner.json").write_text(json.dumps(planner))
    (tmp_path / "grounder.json").write_text(json.dumps(grounder))
    ends = [f"--{role}=scripted:{tmp_path / role}.json" for role in ("planner", "grounder")]
    code = main(["evaluate", "gsm8k", "--data", str(tmp_path / "test.jsonl"), *ends, "--json"])
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert code == 0 and report["formulation"] == "iterative"
    assert (report["correct"], report["n"], report["endings"]) == (2, 2, {"answered": 2})


def test_fault_23_an_answer_of_nought_is_read_and_scored(tmp_path):
    row = {"question": "Ed had 2 hats and lost 2. How many are left?", "answer": "2-2=<<2-2=0>>0 left.\n#### 0"}
    (tmp_path / "test.jsonl").write_text(json.dumps(row))
    (read,) = GSM8K.read(tmp_path / "test.jsonl", "test")
    assert isinstance(read, Task)
    assert GSM8K.score(read, EpisodeResult("0"))[0].value == GSM8K.score(read, EpisodeResult("0.0"))[0].value == 1
    assert GSM8K.score(read, EpisodeResult("2"))[0].value == GSM8K.score(read, EpisodeResult(None))[0].value == 0


def test_fault_24_a_planner_that_stops_at_once_costs_its_own_episode_only():
    outcome, _ = tried(iterative, ["Yes, I will stop planning."], [])
    assert outcome.answer is None and outcome.ending != "answered"
    assert GSM8K.score(task("What is asked?", "0"), EpisodeResult(None, outcome.ending))[0].value == 0


def test_fault_30_and_31_each_prompt_is_asked_once_and_a_reply_ends_at_its_own_line():
    """Solved and dead episodes are not asked again, and what a model writes past its line is not read."""
    outcome, journal = tried(
        iterative,
        [f"{reply}\nSubgoal 9: More." for reply in plan(2)],
        ["R1 = Calculator(2 + 3)\nR9 = Calculator(9)", "R2 = Calculator(R1 / 0)"],
    )
    prompts = [step.command.prompt for step in journal.steps if isinstance(step.command, Ask)]
    assert len(prompts) == len(set(prompts)) == 5
    replies = [step.result.text for step in journal.steps if isinstance(step.result, Completion)]
    assert not any("\n" in reply for reply in replies)
    assert outcome.ending == "action_error"


def test_fault_40_a_rationale_of_several_lines_is_trained_on_one_line_so_that_it_can_be_said():
    from lumos_queue.formulations.registry import FORMULATIONS
    from lumos_queue.prompts.conversations import gold_conversations
    from lumos_queue.records import Annotation

    agent, question = Agent(roles={}, domain="maths"), task("What is asked?", "31")
    annotation = Annotation((), "31")
    cot = FORMULATIONS.load("cot")
    (conversation,) = gold_conversations(question, annotation, cot, agent, rationale="She has 36.\nShe keeps 31.\n\n")
    target = conversation.turns[-1].content
    assert target == "She has 36. She keeps 31. Answer is 31."

    async def go() -> Outcome:
        executor = Executor({"solver": Scripted([f"{target}\n\nMore."])}, MathsActions(), Sampling(), 0)
        async with executor.for_episode(question, 0) as perform:
            return (await run_episode(cot, question, agent, MemoryJournal(), perform)).outcome

    outcome = asyncio.run(go())
    assert outcome.answer == "31" and correct(outcome, "31") == 1
