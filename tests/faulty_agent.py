"""A scripted planner and grounder that know the gold solutions and err at chosen subgoals, for fake endpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.notation import write_subgoal
from lumos_queue.prompts.gold_replies import GoldSolution, write_stepwise
from lumos_queue.records import Annotation, Subgoal, Task

WRONG_SUBGOAL, WRONG_VALUE, FOLLOWED = "Take a number that is not asked for.", 654321, 123456


class FaultyAgent:
    """Return the replies. `planner` and `grounder`: by row, the subgoal (from 1) at which each errs.

    The planner's reply depends only on the number of the turn. The grounder follows the subgoal: a wrong subgoal gives
    FOLLOWED, and an error of the grounder gives WRONG_VALUE.
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
        replies = write_stepwise(GoldSolution(gold, "maths"))["planner"]
        return replies[number - 1] if number <= len(replies) else None

    def ground(self, prompt: str) -> str | None:
        task, gold = self._find(prompt)
        label, text = re.findall(r"Subgoal to be grounded: Subgoal (\d+): (.*?)(?: The grounding could|\n)", prompt)[-1]
        number = int(label)
        wrong = FOLLOWED if text == WRONG_SUBGOAL else WRONG_VALUE if self._grounder.get(task.row) == number else None
        if wrong is None:
            return write_stepwise(GoldSolution(gold, "maths"))["grounder"][number - 1]
        return f"{', '.join(gold.steps[number - 1].actions[-1].variables)} = Calculator({wrong})"

    def _find(self, prompt: str) -> tuple[Task, Annotation]:
        return next((task, gold) for task, gold in self._gold if f"Task: {task.question.strip()}" in prompt)
