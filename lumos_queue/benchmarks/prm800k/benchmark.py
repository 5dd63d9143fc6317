"""PRM800K: competition problems with labelled solution steps. Rows have the published form; an invented row, truncated:

    {"labeler": "…", "question": {"problem": "What is $2+3$?", "ground_truth_answer": "5",
     "ground_truth_solution": "We add: $\\boxed{5}$."}, "label": {"steps": […], "finish_reason": "solution"}}

The rationale is the published solution of the problem, which many rows lack. It is prose, so there is no conversion by
rule. A problem has a row for each labelled solution; the id of a row is its number in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import BadRow
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Level, Task
from lumos_queue.scoring.numeric import numeric_scores, read_number

FORMAT = "PRM800K's rows with 'question' and 'label'"


class PRM800K(Benchmark):
    name = "prm800k"
    domain = "maths"
    teacher_prompt = "maths_code"
    licence = "MIT"
    check_level = Level.EXECUTED

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return tasks(read_records(path, FORMAT, ("question", "label")), self._task)

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
        question = RowNode(row, "", record)["question"]
        has_solution = "ground_truth_solution" in question
        gold = {
            "answer": question["ground_truth_answer"].label(),
            "solution": question["ground_truth_solution"].raw_text() if has_solution else "",
        }
        return Task(self.name, "", str(row), question["problem"].text(verbatim=True), gold=gold)

    def rationale(self, task: Task) -> str:
        if not task.gold["solution"]:
            raise NotConvertible("no_rationale")
        return task.gold["solution"]

    def is_right(self, task: Task, answer: str | None) -> bool:
        """Whether the answer is right. Numbers are compared by value, formulas as text without spaces and `$`."""
        gold = task.gold["answer"]
        if read_number(gold) is not None:
            return numeric_scores(answer, gold)[0].value == 1.0
        return answer is not None and _bare(answer) == _bare(gold)


def _bare(formula: str) -> str:
    return "".join(formula.replace("$", "").split())


benchmark = PRM800K()
