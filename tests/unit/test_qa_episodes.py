"""Whole episodes of questions, with scripted models."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.actions.qa.answer import WITH_CONTEXT
from lumos_queue.actions.qa.interface import QaActions
from lumos_queue.commands import WITHIN, Ask, Do, Final
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import StepContext, run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.iterative import iterative
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Outcome, Task
from tests.qa_question import TASK, WALK

PLANS = [
    "Subgoal 1: How high is the Eiffel Tower?",
    "No, I will keep planning. Subgoal 2: How high is the Empire State Building?",
    "No, I will keep planning. Subgoal 3: Compare the heights.",
    "Yes, I will stop planning.",
]
GROUNDINGS = [
    WALK,
    "R4 = KnowledgeQuery(Empire State Building); R5 = ParagraphRetrieve(R4, Query: height); "
    "R6 = QA([R5], Question: How high is the Empire State Building?)",
    "R7 = Calculator(R3 > R6); R8 = QA([R7], Question: Is it higher?)",
]
ANSWERS = ["Answer: 330 metres.", "Answer: 381 metres", "Answer: no", "Answer: no"]


def episode(plans, groundings, answers, steps=()):
    models = {"planner": Scripted(plans), "grounder": Scripted(groundings), "qa": Scripted(answers)}
    journal = MemoryJournal(steps)
    agent = Agent(roles={}, domain="complex_qa", answer_by="qa")

    async def go():
        actions = QaActions({})
        try:
            async with Executor(models, actions, Sampling(), 0).for_episode(TASK, 0) as perform:
                return (await run_episode(iterative, TASK, agent, journal, perform)).outcome
        finally:
            await actions.close()

    return asyncio.run(go()), journal, models


def test_a_question_is_planned_grounded_and_answered_from_all_its_answers():
    outcome, journal, models = episode(PLANS, GROUNDINGS, ANSWERS)
    assert outcome == Outcome("no", "answered")
    context = (
        "Question: How high is the Eiffel Tower?; Answer: 330 metres.; "
        "Question: How high is the Empire State Building?; Answer: 381 metres; "
        "Question: 330 metres > 381 metres; Answer: no; Question: Is it higher?; Answer: no;"
    )
    assert models["qa"].prompts[-1] == WITH_CONTEXT.format(question=TASK.question, context=context)
    results = [step.result.result for step in journal.steps if isinstance(step.command, Do)]
    assert results[6] == "no"  # R7: 330 metres are less than 381 metres


def test_fault_11_a_stop_after_the_last_subgoal_allowed_is_seen():
    plans = [PLANS[0], *(f"No, I will keep planning. Subgoal {number}: again." for number in range(2, 8)), PLANS[-1]]
    groundings = [f"R{number} = QA([], Question: q{number})" for number in range(1, 8)]
    outcome, _, _ = episode(plans, groundings, [f"Answer: {number}" for number in range(1, 9)])
    assert outcome == Outcome("8", "answered")


def test_an_interrupted_question_goes_on_from_every_step_and_asks_no_model_again():
    whole = episode(PLANS, GROUNDINGS, ANSWERS)[1]
    assert [step.branch for step in whole.steps if getattr(step.command, "role", "") == "qa"] == [WITHIN] * 4
    scripts = {"planner": PLANS, "grounder": GROUNDINGS, "qa": ANSWERS}
    for done in range(len(whole.steps) + 1):
        known = whole.steps[:done]
        asked = [step.command.role for step in known if isinstance(step.command, Ask)]
        left = {role: replies[asked.count(role) :] for role, replies in scripts.items()}
        outcome, journal, models = episode(left["planner"], left["grounder"], left["qa"], known)
        assert outcome == Outcome("no", "answered")
        assert len(journal.steps) == len(whole.steps)
        assert {role: len(model.prompts) for role, model in models.items()} == {r: len(one) for r, one in left.items()}


@pytest.mark.parametrize(("final", "end"), [(Final("yes/no"), ";"), (None, "")])
def test_the_concluding_question_stands_as_it_is(final, end):
    """Jobs begun before its context ended in a semicolon go on without: there, the command is not `final`."""
    task = Task("b", "d", "1", "Is R2-D2 taller than R5-D4?", inputs={"paragraphs": []})
    endpoint = Scripted(["Answer: yes"])
    known = {
        "R2": {"kind": "answer", "text": "no", "question": "Is it?", "answer": "no"},
        "R3": {"kind": "answer", "text": "2 m", "question": "How tall?", "answer": "2 m"},
    }

    async def go():
        actions = QaActions()
        place = StepContext(
            0,
            0,
            known,
            step=lambda command, position, branch: endpoint.generate(ModelCall(command.prompt, Sampling())),
            final=final,
        )
        done = await actions.begin(task).execute(Action(("Output",), "Conclude", "[R2, R3] yes/no"), place)
        await actions.close()
        return done

    assert asyncio.run(go()).result == "yes"
    question = "Is R2-D2 taller than R5-D4? Must answer yes/no."
    context = "Question: Is it?; Answer: no; Question: How tall?; Answer: 2 m" + end
    assert endpoint.prompts == [WITH_CONTEXT.format(question=question, context=context)]


def test_fault_24_an_episode_whose_planner_stops_at_once_ends_without_an_answer():
    outcome, *_ = episode(["Yes, I will stop planning."], [], [])
    assert (outcome.answer, outcome.ending) == (None, "no_answer")
