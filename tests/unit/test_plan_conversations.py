"""Plans of experts as training text: what is learnt is what a planner is asked and has to write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lumos_queue.benchmarks.openagi.rows import make_task
from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.commands import Ask
from lumos_queue.errors import SpecError
from lumos_queue.experts.runs import annotate_plan, annotate_runs, plan_of
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations
from lumos_queue.records import Action

FORMULATION = FORMULATIONS.load("model-synthesis")
AGENT = Agent({}, "experts", settings=FORMULATION.taught_with)


def task_of(spec):
    return make_task(spec, [["x"] for _ in spec.channels], ["y"], [], {}, {})


def test_every_gold_plan_is_learnt_as_it_is_asked_for():
    for spec in TASKS:
        task = task_of(spec)
        (made,) = gold_conversations(task, annotate_plan(spec.plan, spec.signature), FORMULATION, AGENT)
        assert made.dataset == "openagi/model-synthesis/planner"
        assert [turn.content for turn in made.turns] == [spec.description, spec.plan.write()]
        asked = next(FORMULATION(task.without_gold(), AGENT))
        assert isinstance(asked, Ask) and made.text() == f"{asked.prompt}{spec.plan.write()}</s>"


def test_runs_that_are_not_those_of_the_plan_are_not_learnt():
    spec = TASKS[120]
    whole = annotate_plan(spec.plan, spec.signature)
    assert plan_of(whole, spec.signature) == spec.plan
    with pytest.raises(SpecError, match="E3 uses what nothing has set"):
        gold_conversations(task_of(spec), replace(whole, steps=whole.steps[::2]), FORMULATION, AGENT)
    spaced = annotate_runs([(Action(("E1",), "Image Captioning", '[ "image"]'), "")], "")
    with pytest.raises(SpecError, match="changes when it is written and read again"):
        gold_conversations(task_of(TASKS[15]), spaced, FORMULATION, AGENT)
    for arguments, said in (("[" * 10**5, "nested too deep"), ("[1]", "not a list of names"), ("[]", "not a list")):
        broken = annotate_runs([(Action(("E1",), "Colorization", arguments), "")], "")
        with pytest.raises(SpecError, match=f"not a plan of experts.*{said}"):
            gold_conversations(task_of(spec), broken, FORMULATION, AGENT)


def test_a_solution_of_another_domain_has_no_plan():
    spec = TASKS[0]
    annotation = annotate_plan(spec.plan, spec.signature)
    with pytest.raises(SpecError, match="the task has no channels"):
        gold_conversations(replace(task_of(spec), inputs={}), annotation, FORMULATION, AGENT)
