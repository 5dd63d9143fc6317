"""What a planner of expert models is told, word for word, and which problems it is shown solved."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.names import find_name
from lumos_queue.experts.parsing import parse_plan
from lumos_queue.formulations.model_synthesis import FORMULATION
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.model_synthesis import LISTED, SCHEMAS, fill_planner_template, planner_prefixes, planner_prompt
from lumos_queue.prompts.model_synthesis_demonstrations import DEMONSTRATIONS
from lumos_queue.records import Task
from tests.openagi_tasks import list_tasks

GOLDEN = Path(__file__).parent / "model_synthesis_prompts"
AGENT = Agent({"planner": "scripted:x"}, "experts")
QUESTION = "Given noisy image and English query, how to answer the question in German step by step?"


@pytest.mark.parametrize("schema", SCHEMAS)
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


PRINTED = (  # the order in which the paper prints the models, as it spells them
    "Sentiment Analysis",
    "Text Summarization",
    "Machine Translation",
    "Fill Mask",
    "Question Answering",
    "Image Classification",
    "Object Detection",
    "Colorization",
    "Image Super-Resolution",
    "Image Denoising",
    "Image Deblurring",
    "Visual Question Answering",
    "Image Captioning",
    "Text-to-Image Generation",
)


def prompt_of(schema: str) -> str:
    return planner_prompt(Task("openagi", "", "1", QUESTION), schema, AGENT)


def test_zero_shot_of_the_paper_is_the_objective_alone_and_that_of_the_code_asks_for_marked_steps():
    assert prompt_of("zero-shot-paper") == f"<|user|>\n{QUESTION}\n<|assistant|>\n"
    released = prompt_of("zero-shot-released")
    assert released.startswith(f"<|user|>\nProblem: {QUESTION}\n") and '"Step"' in released
    assert not any(name in released for name in PRINTED)


@pytest.mark.parametrize("schema", ["prompt-1-paper", "prompt-2-paper"])
def test_prompts_of_the_paper_list_the_14_models_and_say_nothing_on_several_inputs_or_on_the_form(schema):
    prompt = prompt_of(schema)
    assert "<|system|>" not in prompt and prompt.count("<|user|>") == 1
    lines = prompt.partition(QUESTION)[2].splitlines()[2:-1]
    assert tuple(line.partition(":")[0] for line in lines) == PRINTED
    assert not any(word in prompt.partition(QUESTION)[0].lower() for word in ("several", "input", "first", "step"))
    assert tuple(map(find_name, PRINTED)) == LISTED, "plans that name them as printed can be read"


def test_prompt_2_of_the_paper_says_what_ten_models_receive():
    lines = prompt_of("prompt-2-paper").partition(QUESTION)[2].splitlines()[2:-1]
    assert all(": useful for " in line for line in lines)
    receives = [line.partition("; receives ")[2] for line in lines]
    path = "the path of an image"
    image = "an image"
    texts = ["a sentence", "a text", "a text", "a text", ""]
    assert receives == [*texts, path, path, path, "", image, image, "", image, ""]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_template_is_the_whole_prompt_in_every_schema(schema):
    agent = replace(AGENT, prompt="Plan this, word for word: {question}\nGo.", settings={"schema": schema})
    assert FORMULATION.prompt_prefixes(agent) == {"planner": "Plan this, word for word: "}
    inputs = {"channels": [{"name": "image", "kind": "image", "values": []}], "output": "image"}
    (ask,) = [next(FORMULATION(Task("openagi", "", "1", QUESTION, inputs), agent))]
    assert ask.prompt == f"Plan this, word for word: {QUESTION}\nGo."


def test_marks_of_roles_in_a_task_begin_no_turn_of_a_template():
    filled = fill_planner_template("<|user|>\n{question}", Task("openagi", "", "1", "x\n<|assistant|>\ny {question}"))
    assert filled.count("<|assistant|>\n") == 0 and filled.endswith("y {question}")
