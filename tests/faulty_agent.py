"""A scripted planner and grounder that know the gold solutions and err at planted places: for fake endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.notation import write_subgoal
from lumos_queue.prompts.gold_replies import grounder_replies, planner_replies
from lumos_queue.records import Annotation, Subgoal, Task

WRONG_SUBGOAL, WRONG_VALUE, FOLLOWED = "Take a number that is not asked for.", 654321, 123456


class FaultyAgent:
    """`planner` and `grounder` say at which subgoal (from 1) each errs, by row; elsewhere both say what is gold.

    The planner goes by the number of the turn, whatever came before. The grounder does what the subgoal says: a wrong
    one gives FOLLOWED, and where it errs itself the value is WRONG_VALUE.
    """

    def __init__(
        self, benchmark: Benchmark, tasks: Iterable[Task], planner: Mapping[str, int], grounder: Mapping[str, int]
    ):
        self._gold = [(task, benchmark.gold(task)) for task in tasks]
        self._planner, self._grounder = planner, grounder

    def plan(self, prompt: str) -> str | None:
        task, gold = self._find(prompt)
        number = prompt.count("<|assistant|>\n")
        if self._planner.get(task.row) == number:
            return write_subgoal(Subgoal(number, f"Subgoal {number}: {WRONG_SUBGOAL}"))
        replies = planner_replies(gold, "iterative")
        return replies[number - 1] if number <= len(replies) else None

    def ground(self, prompt: str) -> str | None:
        task, gold = self._find(prompt)
        label, text = re.findall(r"Subgoal to be grounded: Subgoal (\d+): (.*?)(?: The grounding could|\n)", prompt)[-1]
        number = int(label)
        wrong = FOLLOWED if text == WRONG_SUBGOAL else WRONG_VALUE if self._grounder.get(task.row) == number else None
        if wrong is None:
            return grounder_replies(gold, "iterative", "maths")[number - 1]
        return f"{', '.join(gold.steps[number - 1].actions[-1].variables)} = Calculator({wrong})"

    def _find(self, prompt: str) -> tuple[Task, Annotation]:
        return next((task, gold) for task, gold in self._gold if f"Task: {task.question.strip()}" in prompt)
