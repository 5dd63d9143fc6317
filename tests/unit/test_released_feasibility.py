"""OpenAGI's released rule of feasibility beside ours: what it accepts, what then runs, and how it is scored."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.options import prepare_experts
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.openagi.generated_tasks import generate_task
from lumos_queue.benchmarks.openagi.scores import score_episode
from lumos_queue.commands import Do, Note
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.released_feasibility import MAX_EXPERTS, find_released_refusal
from lumos_queue.formulations.model_synthesis import FORMULATION
from lumos_queue.formulations.plan_rules import UNFIT
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Ending, Task
from tests.expert_tasks import ALL, make_task, run_task
from tests.openagi_tasks import list_tasks

ACTIONS = ExpertActions(prepare_experts({"experts": "oracle"}))
RELEASED = {"feasibility": "released"}


def write_steps(*names: str) -> str:
    return "\n".join(f"Step {number}: {name}," for number, name in enumerate(names, start=1))


def run(number: int, *names: str, **settings: str):
    return asyncio.run(run_task(*make_task(ALL[number]), write_steps(*names), ACTIONS, settings=RELEASED | settings))


def score(number: int, *names: str, **settings: str) -> dict[str, float]:
    done, _ = run(number, *names, **settings)
    task = generate_task(ALL[number], 2, "released", {})
    agent = Agent({"planner": "scripted:x"}, "experts", settings=RELEASED | settings)
    result = EpisodeResult.of(done.outcome, agent, done.actions, None, lambda digest: b"", "")
    return {one.metric: one.value for one in score_episode(task, result, comparisons=())}


@pytest.mark.parametrize("pairs", [True, False])
def test_gold_plans_are_feasible_by_types_and_118_by_the_released_rule(pairs):
    refused = Counter()
    for task in list_tasks():
        assert infeasible_because(task.plan, task.signature) == ""
        if find_released_refusal(task.plan.names, int(task.row["id"]), pairs):
            refused[task.row["category"]] += 1
    assert refused == {"image+text-text": 60, "text+text-text": 6, "text-text": 1}
    assert sum(refused.values()) == 185 - 118


@pytest.mark.parametrize(
    ("number", "names", "pairs", "problem"),
    [
        (0, ("Colorization",), True, ""),
        (14, ("Colorization", "Colorization"), True, ""),
        (15, ("Colorization",), True, "the released code expects image to image in tasks 0 to 14, and this is 15"),
        (15, ("Colorization", "Fill Mask"), True, "'Fill Mask' takes text, and gets image"),
        (15, ("Colorization", "Fill Mask"), False, ""),
        (105, ("Fill Mask", "Text to Image Generation"), True, ""),
        (
            107,
            ("Fill Mask", "Text Summarization"),
            True,
            "the released code expects text to text in tasks 108 to 125, and this is 107",
        ),
        (117, ("Fill Mask", "Machine Translation"), True, ""),
        (126, ("Visual Question Answering",), True, ""),
        (126, ("Visual Question Answering", "Machine Translation"), True, ""),
        (
            125,
            ("Visual Question Answering",),
            True,
            "the released code expects image-text to text in tasks 126 to 170, and this is 125",
        ),
        (171, ("Question Answering",), True, ""),
        (
            170,
            ("Question Answering",),
            True,
            "the released code expects text-text to text in tasks 171 to 188, and this is 170",
        ),
        (177, ("Fill Mask", "Question Answering"), True, "'Question Answering' takes text-text, and gets text"),
        (
            0,
            ("Text to Image Generation",),
            True,
            "the released code expects text to image in tasks 105 to 107, and this is 0",
        ),
        (
            0,
            ("Visual Question Answering", "Text to Image Generation"),
            True,
            "the released code expects no plan from image-text to image",
        ),
        (0, (), True, "the plan names no expert"),
        (0, ("Bake",), True, "there is no expert 'Bake'"),
        (0, ("Colorization",) * MAX_EXPERTS, True, ""),
        (0, ("Colorization",) * (MAX_EXPERTS + 1), True, f"64 experts, at most {MAX_EXPERTS} may be"),
    ],
)
def test_what_the_released_rule_refuses_and_why(number, names, pairs, problem):
    assert find_released_refusal(names, number, pairs) == problem


def test_a_repetition_runs_under_the_released_rule_and_not_under_types():
    done, journal = run(0, "Image Denoising", "Colorization", "Image Denoising")
    assert done.outcome.ending == Ending.ANSWERED
    assert [one.command.action.name for one in journal.steps if isinstance(one.command, Do)] == [
        "Image Denoising",
        "Colorization",
        "Image Denoising",
    ]
    notes = [one.command.subgoal.text for one in journal.steps if isinstance(one.command, Note)]
    assert notes[3:] == [f"Subgoal 4: {UNFIT}'Image Denoising' is repeated"]
    done, journal = run(0, "Image Denoising", "Colorization", "Image Denoising", feasibility="types")
    assert done.outcome.message == "'Image Denoising' is repeated" and done.outcome.ending == Ending.INFEASIBLE
    assert sum(isinstance(one.command, Note) for one in journal.steps) == 3


def test_more_than_ten_experts_run_under_the_released_rule():
    done, _ = run(0, *("Image Denoising", "Colorization") * 6)
    assert done.outcome.ending == Ending.ANSWERED and len(done.actions) == 12


def test_the_gold_plan_of_two_inputs_is_refused_by_the_released_rule_and_nothing_runs():
    done, journal = run(117, *ALL[117].plan.names)
    assert done.outcome.ending == Ending.INFEASIBLE
    assert not any(isinstance(one.command, Do) for one in journal.steps)
    notes = [one.command.subgoal.text for one in journal.steps if isinstance(one.command, Note)]
    assert not any(UNFIT in note for note in notes)
    assert set(score(117, *ALL[117].plan.names).values()) == {0.0}


def test_a_plan_that_the_released_rule_accepts_may_be_one_that_cannot_run():
    done, journal = run(117, "Fill Mask", "Machine Translation")  # its range says text to text, the task has an image
    assert done.outcome.ending == Ending.ACTION_ERROR
    assert done.outcome.message == "accepted by feasibility=released, but it cannot run: nothing joins the branches"
    assert not any(isinstance(one.command, Do) for one in journal.steps)
    found = score(117, "Fill Mask", "Machine Translation")
    assert found.pop("feasible") == 1 and set(found.values()) == {0.0}


def test_a_fine_tuned_planner_is_judged_by_the_two_ends_alone():
    names = ("Image Denoising", "Fill Mask", "Colorization", "Image Captioning")
    assert run(20, *names)[0].outcome.ending == Ending.INFEASIBLE
    done, _ = run(20, *names, schema="fine-tuning")
    assert done.outcome.ending == Ending.ACTION_ERROR
    assert done.outcome.message.endswith("cannot run: 'Fill Mask' takes text, and gets image")


def test_with_dedupe_first_the_released_rule_judges_the_names_once_each():
    names = ("Image Captioning", "Machine Translation", "Image Captioning")
    assert run(20, *names)[0].outcome.ending == Ending.INFEASIBLE
    assert run(20, *names, duplicates="dedupe_first")[0].outcome.ending == Ending.ANSWERED


def test_a_repetition_is_scored_by_the_rule_of_the_job():
    names = (*ALL[0].plan.names, ALL[0].plan.names[0])
    assert score(0, *names)["feasible"] == 1 and score(0, *names)["recovery"] == 1
    assert set(score(0, *names, feasibility="types").values()) == {0.0}


def test_tasks_of_other_benchmarks_have_no_released_rule():
    task, artifacts = make_task(ALL[0])
    other = Task("pictures", "d", "x", task.question, task.inputs)
    done, journal = asyncio.run(run_task(other, artifacts, write_steps("Colorization"), ACTIONS, settings=RELEASED))
    assert done.outcome.ending == Ending.INFEASIBLE and not journal.steps
    assert done.outcome.message == "feasibility=released is for the 185 tasks of openagi, not for row 'x' of 'pictures'"


def test_the_default_is_the_rule_of_types():
    assert FORMULATION.read_settings(Agent({}, "experts"))["feasibility"] == "types"
