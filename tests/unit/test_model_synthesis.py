"""Model synthesis on scripted planners: in which order it asks, notes and runs, and how it ends."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.options import prepare_experts
from lumos_queue.commands import Ask, Call, Do, Note
from lumos_queue.errors import SpecError
from lumos_queue.formulations.model_synthesis import FORMULATION
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.model_synthesis import SCHEMAS
from lumos_queue.records import Ending, Task
from tests.expert_tasks import ALL, make_task, references, run_task

TOOLS = prepare_experts({"experts": "oracle"})
SPEC = ALL[117]  # image and question: four restorations and a mask
STEPS = "\n".join(f"Step {number}: {name}," for number, name in enumerate(SPEC.plan.names, start=1))


def run(reply: str, spec=SPEC, **settings: str):
    return asyncio.run(run_task(*make_task(spec), reply, ExpertActions(TOOLS), settings=settings))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_schema_asks_once_notes_each_step_and_runs_the_graph(schema):
    done, journal = run(STEPS, schema=schema)
    assert done.outcome.ending == Ending.ANSWERED
    assert done.actions[-1][1].values[0]["items"] == references(SPEC)
    assert done.outcome.answer == " | ".join(references(SPEC))
    (ask,) = (one.command for one in journal.steps if isinstance(one.command, Ask))
    assert ask.role == "planner" and ask.prompt.startswith(
        FORMULATION.prompt_prefixes(Agent({"planner": "x"}, "experts", settings={"schema": schema}))["planner"]
    )
    notes = [one.command.subgoal.text for one in journal.steps if isinstance(one.command, Note)]
    assert notes == [f"Subgoal {number}: {name}" for number, name in enumerate(SPEC.plan.names, start=1)]


def test_branches_run_in_one_list_of_commands():
    _, journal = run(STEPS)
    first = [one for one in journal.steps if isinstance(one.command, Do)][:2]
    assert {one.position for one in first} == {first[0].position} and [one.branch for one in first] == [0, 1]
    assert [one.command.action.name for one in first] == ["Image Super Resolution", "Fill Mask"]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("I cannot help with that.", "the plan names no expert"),
        ("", "the plan names no expert"),
        ("Step 1: Image Captioning", "nothing joins the branches"),
        (
            "(Image Denoising,)(Fill Mask,)(Fill Mask,)Visual Question Answering,",
            "the plan has 3 branches, the task 2 inputs",
        ),
        ("(Image Denoising,Image Denoising,)()Visual Question Answering,", "'Image Denoising' is repeated"),
    ],
)
def test_a_plan_that_cannot_run_ends_the_episode_and_runs_nothing(reply, problem):
    done, journal = run(reply)
    assert (done.outcome.ending, done.outcome.message) == (Ending.INFEASIBLE, problem)
    assert not [one for one in journal.steps if isinstance(one.command, Do | Call)]


def test_steps_that_name_no_expert_are_noted():
    done, journal = run("Step 1: Bake the cake\n" + STEPS)
    assert done.outcome.ending == Ending.ANSWERED
    notes = [one.command.subgoal.text for one in journal.steps if isinstance(one.command, Note)]
    assert notes[-1].endswith("names no expert: Bake the cake") and len(notes) == len(SPEC.plan.names) + 1


@pytest.mark.parametrize(
    ("policy", "ending", "message"),
    [
        ("keep", Ending.INFEASIBLE, "'Colorization' is repeated"),
        ("dedupe_first", Ending.ANSWERED, ""),
        ("reject", Ending.INFEASIBLE, "'Colorization' is repeated (duplicates=reject)"),
    ],
)
def test_duplicates(policy, ending, message):
    done, _ = run("Colorization, Image Denoising, Colorization", ALL[1], duplicates=policy)
    assert (done.outcome.ending, done.outcome.message) == (ending, message)


def test_a_task_without_channels_is_infeasible():
    task = Task("x", "d", "1", "?", {"channels": []})
    done, journal = asyncio.run(run_task(task, {}, STEPS, ExpertActions(TOOLS)))
    assert done.outcome.ending == Ending.INFEASIBLE and not journal.steps


@pytest.mark.parametrize(
    "settings",
    [{"schema": "prompt-3"}, {"parser": "best"}, {"parser": "encoder:"}, {"duplicates": "drop"}, {"unknown": "x"}],
)
def test_settings_that_are_not_valid(settings):
    with pytest.raises(SpecError):
        FORMULATION.read_settings(Agent({"planner": "x"}, "experts", settings=settings))
