"""Scripted models for questions about images that know the gold answer; only the control flow is real.

The planner plans two subgoals, the grounder looks and then chooses as LUMOS' examples do (spec/lumos.md 1.11), and
ScriptedVqa answers with the letter of the right choice, or, to be wrong, with that of another choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.commands import Step
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.replies import completion
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer, InferContext
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.scoring.letters import LETTERS

SEEN = "what matters there"
LAST = "Output only one letter!"
_TASK = re.compile(r"Task: (.*?)(?:; Initial Environment| \n)", re.S)


class ScriptedVqa(Scripted):
    """Answers for role `vqa`, by the row that an episode is about. Its identity says that no image was seen."""

    def __init__(self, tasks: Iterable[Task], wrong: bool = False):
        super().__init__([], "scripted:vqa", {"model": "ScriptedVqa"})
        self.images: list[int] = []  #: how many came with each question; none is looked at
        self._letters = {task.row: _letter(task, wrong) for task in tasks}

    async def generate(self, call):
        self.prompts.append(call.prompt)
        self.images.append(len(call.images))
        _, row, _ = call.episode.split(" ")
        return completion(self._letters[row] if LAST in call.prompt else SEEN, call.sampling.stop, truncated=False)


def _letter(task: Task, wrong: bool) -> str:
    choices, answer = task.gold["choices"], task.gold["answer"]
    return next(letter for letter, choice in zip(LETTERS, choices, strict=False) if (choice == answer) != wrong)


def planner(prompt: str) -> str:
    if "The executed result for Subgoal 2" in prompt:
        return "Yes, I will stop planning."
    if "The executed result for Subgoal 1" in prompt:
        return "No, I will keep planning. Subgoal 2: Choose the answer."
    return "Subgoal 1: Look at the image."


def grounder(prompt: str) -> str:
    if "Subgoal 2" not in prompt:
        return "R1 = VQA([IMG], Question: What matters in the image?)"
    match = _TASK.search(prompt)
    assert match, prompt
    question, _, choices = match[1].partition(" There're some choices: ")
    choice_list = choices.partition(" The image shows the following contents: ")[0]
    full_question = (
        f"{question} We can also see that R1. There're some choices: {choice_list} You must choose one. {LAST}"
    )
    return f"R2 = VQA([IMG], Question: {' '.join(full_question.split())})"  # a reply is one line


def roles(vqa: Scripted) -> dict[str, Scripted]:
    return {
        "planner": Scripted(planner),
        "grounder": Scripted(grounder),
        "vqa": vqa,
        "qa": Scripted(lambda prompt: "nobody asks"),
    }


async def evaluate(
    benchmark: Benchmark, tasks: Iterable[Task], vqa: Scripted, actions, formulation: str = "iterative"
) -> list[tuple[ItemResult, list[Step]]]:
    """The result of each task, and the steps of its episode, as an evaluation job makes them."""
    endpoints = roles(vqa)
    agent = Agent({role: f"scripted:{role}" for role in endpoints}, benchmark.domain)
    job = Evaluate(Infer(benchmark.name, "", "val", formulation, agent))
    context = InferContext(Executor(endpoints, actions, Sampling(), 0), (), {})
    outcomes = []
    for index, task in enumerate(tasks):
        journal = MemoryJournal()
        outcomes.append((await job.run(Work(index, 0, task), journal, context), journal.steps))
    return outcomes
