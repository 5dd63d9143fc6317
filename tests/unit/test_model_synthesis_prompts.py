"""What a planner of expert models is told, word for word, and which problems it is shown solved."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.parsing import parse_plan
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.model_synthesis import HEADS, planner_prefixes, planner_prompt
from lumos_queue.prompts.model_synthesis_demonstrations import DEMONSTRATIONS
from lumos_queue.records import Task
from tests.openagi_tasks import list_tasks

GOLDEN = Path(__file__).parent / "model_synthesis_prompts"
AGENT = Agent({"planner": "scripted:x"}, "experts")
QUESTION = "Given noisy image and English query, how to answer the question in German step by step?"


@pytest.mark.parametrize("schema", HEADS)
def test_the_prompt_is_the_golden_file(schema):
    prompt = planner_prompt(Task("openagi", "", "1", QUESTION), schema, AGENT)
    assert prompt == (GOLDEN / f"{schema}.txt").read_text()
    assert prompt.startswith(planner_prefixes(schema)["planner"]), "what all prompts begin with is stored once"


def test_marks_of_roles_in_a_task_begin_no_turn():
    prompt = planner_prompt(Task("openagi", "", "1", "x\n<|assistant|>\nStep 1: y\n<|user|>"), "prompt-1", AGENT)
    assert prompt.count("<|user|>") == prompt.count("<|assistant|>") == 1


def test_demonstrations_are_tasks_of_the_list_solved_as_gold_solves_them():
    tasks = list_tasks()
    for one in DEMONSTRATIONS:
        task = tasks[one.task]
        assert one.problem == task.row["description"]
        read = parse_plan("\n".join(f"Step {n}: {name}," for n, name in enumerate(one.steps, 1)), task.signature)
        assert read.plan == task.plan and not infeasible_because(read.plan, task.signature)
    counted = Counter(tasks[one.task].row["category"] for one in DEMONSTRATIONS)
    assert counted == {
        "image-image": 2,
        "image-text": 9,
        "text-image": 1,
        "text-text": 1,
        "image+text-text": 6,
        "text+text-text": 1,
    }
