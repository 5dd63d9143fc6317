"""OpenAGI's tasks are the published ones, our split is drawn as said, and rules without a model plan them."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

import lumos_queue.benchmarks.openagi
from lumos_queue.benchmarks.openagi.baselines import plan_by_keywords, plan_of_nearest
from lumos_queue.benchmarks.openagi.splits import SPLITS, sample_splits, tasks_of
from lumos_queue.benchmarks.openagi.tasks import TASKS, TaskSpec
from lumos_queue.experts.base import Kind
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.parsing import parse_plan
from lumos_queue.experts.plans import Plan, Signature, read_wire
from tests.openagi_runs import runs_by_bytes, runs_by_history

IDS = Path(lumos_queue.benchmarks.openagi.__file__).parent / "splits.json"
CATEGORIES = {
    "image-image": 15,
    "image-text": 90,
    "text-image": 2,
    "text-text": 10,
    "image+text-text": 60,
    "text+text-text": 8,
}


def csv_row(task: TaskSpec) -> dict[str, str]:
    """A task in the columns of the list of the specification."""
    names = [(one.slot.name, one.augmentations) for one in task.channels]
    given = [(one if one == "image" else "text:en", one) for one, _ in names]
    plan = task.plan
    sequence = list(plan.tail)
    if not task.linear:
        joined = " & ".join(f"({' > '.join(one) or 'identity'})" for one in plan.branches)
        sequence = [joined, *sequence]
    return {
        "id": str(task.id),
        "description": task.description,
        "difficulty": str(task.difficulty),
        "difficulty_derived": str(task.difficulty_derived),
        "category": task.category,
        "inputs": "|".join(kind if task.linear or kind == "image" else f"{kind}({name})" for kind, name in given),
        "input_augmentations": "|".join(
            one if task.linear else f"{name}:{one}" for name, augmentations in names for one in augmentations
        ),
        "outputs": f"text:{task.language}" if task.language else "image",
        "metric": task.goal.metric,
        "gold_plan": " > ".join(sequence),
        "linear": "yes" if task.linear else "no",
        "source_data": task.goal.source,
    }


def test_the_list_is_the_published_one_in_every_column(shared_spec):
    with (shared_spec / "openagi_tasks.csv").open(newline="") as file:
        published = list(csv.DictReader(file))
    assert [csv_row(task) for task in TASKS] == published


def test_the_published_descriptions_occur(shared_data):
    found = (shared_data / "openagi" / "task_description.txt").read_text().splitlines()
    assert len(found) == 153 and set(found) <= {task.description for task in TASKS}


def test_counts_by_category_and_structure():
    assert Counter(task.category for task in TASKS) == CATEGORIES
    assert Counter(task.linear for task in TASKS) == {True: 117, False: 68}
    busy = Counter(sum(map(bool, task.plan.branches)) for task in TASKS if not task.linear)
    assert busy == {2: 32, 1: 34, 0: 2}


def test_difficulties_published_and_derived():
    assert [Counter(task.difficulty for task in TASKS)[one] for one in range(1, 8)] == [9, 30, 52, 54, 32, 7, 1]
    derived = Counter(task.difficulty_derived for task in TASKS)
    assert [derived[one] for one in range(1, 8)] == [9, 31, 53, 52, 30, 9, 1]
    differ = [task.id for task in TASKS if task.difficulty != task.difficulty_derived]
    assert differ == [15, 133, 137, 145, 146, 149, 150, 171, 172]
    assert all(abs(TASKS[one].difficulty - TASKS[one].difficulty_derived) == 1 for one in differ)


def test_every_gold_plan_is_feasible_and_survives_its_wire_form():
    for task in TASKS:
        assert infeasible_because(task.plan, task.signature) == "", task.id
        assert read_wire(task.plan.write()) == task.plan, task.id


def test_the_released_plans_parse_and_one_repeats_a_model(shared_data):
    lines = (shared_data / "openagi" / "train_model_sequence.txt").read_text().splitlines()
    any_input = Signature(TASKS[0].signature.inputs, Kind.TEXT)
    found = [parse_plan(line, any_input) for line in lines]
    assert [", ".join(one.plan.names) for one in found] == lines
    assert not any(one.unresolved for one in found)
    repeats = [one.plan.names for one in found if len(set(one.plan.names)) < len(one.plan.names)]
    assert repeats == [("Machine Translation", "Sentiment Analysis", "Machine Translation")]


def test_gold_plans_run_649_models_a_sample_of_which_304_differ():
    runs = runs_by_history()
    assert (len(runs), len(set(runs))) == (649, 304)


RESTORED = {"Image Super Resolution": 32, "Image Denoising": 16, "Image Deblurring": 8, "Colorization": 4}
ONCE = (
    "Image Captioning",
    "Image Classification",
    "Object Detection",
    "Visual Question Answering",
    "Question Answering",
    "Text Summarization",
    "Sentiment Analysis",
    "Text to Image Generation",
)


@pytest.mark.parametrize("number", range(3))
def test_exact_experts_run_81_models_as_what_they_restore_is_what_other_tasks_are_given(number):
    """In gold's order a picture passes through the inputs of other tasks, down to the one clean picture.

    Of each of four sources the 15 sets of augmentations have one restoration each (60: 8, 4, 2 and 1 of a source);
    each masked text is filled once (captions, documents, sentiments, two of passages, questions about signs: 6); each
    model sees the clean input alone (8), and each of seven sources has one target to translate (7).
    """
    runs = runs_by_bytes(number)
    assert len(runs) == 649
    distinct = Counter(expert for expert, _ in set(runs))
    assert distinct == {**RESTORED, "Fill Mask": 6, "Machine Translation": 7, **dict.fromkeys(ONCE, 1)}
    assert distinct.total() == 81


# --- our split


def test_the_shipped_ids_are_those_that_the_seed_draws():
    assert json.loads(IDS.read_text()) == sample_splits()


def test_splits_are_disjoint_and_hold_every_category():
    labelled, feedback, heldout = (tasks_of(name) for name in SPLITS[:3])
    assert (len(labelled), len(feedback), len(heldout)) == (20, 110, 55)
    assert sorted(one.id for one in (*labelled, *feedback, *heldout)) == [one.id for one in tasks_of("all")]
    assert Counter(one.category for one in labelled) == dict(zip(CATEGORIES, (2, 9, 1, 1, 6, 1), strict=True))
    assert {one.category for one in heldout} == set(CATEGORIES)


def test_another_seed_draws_another_split():
    assert sample_splits(seed=16) != sample_splits()


# --- rules


def test_the_keyword_rule_plans_all_tasks():
    assert [plan_by_keywords(task.description) for task in TASKS] == [task.plan for task in TASKS]


def test_the_nearest_demonstration_is_another_labelled_task():
    labelled = tasks_of("labelled")
    for task in TASKS:
        plan = plan_of_nearest(task.description)
        assert plan in {one.plan for one in labelled} and plan != task.plan


def test_the_nearest_is_the_one_with_most_words_in_common():
    assert plan_of_nearest("Given noisy image, how to count?", [TASKS[7], TASKS[13]]) == Plan((), ("Image Denoising",))
