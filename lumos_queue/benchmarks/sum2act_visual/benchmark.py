"""Sum2Act's four cases with image experts (arXiv:2402.18157). The paper describes the cases without measuring them.

The tasks were made for this project, with generated pictures (MIT): VARIATIONS of each case. Agents call local
functions (actions/local/), so a score depends on the experts: `--tool experts=own`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.sum2act_visual.cases import CASES, NAME, VARIATIONS, make_case
from lumos_queue.benchmarks.sum2act_visual.check import check_case
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Ending, Score, Task


class VisualCases(Benchmark):
    """`success`: all gold calls were made and the episode has an answer; `gold_calls`: the share of gold calls made."""

    name = NAME
    domain = "local_tools"
    licence = "MIT"
    splits = ("test",)
    needs_data = False
    by_answer = False
    metrics = ("success", "gold_calls")

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """Yield the first task of every case, then the second task of every case, and so on. Raises SpecError."""
        if path is not None:
            raise SpecError(f"The tasks of '{NAME}' are generated: leave out --data.")
        artifacts: dict[str, bytes] = {}
        self.artifacts = artifacts
        self.notes = [f"pictures are generated, {VARIATIONS} tasks of each of {len(CASES)} cases"]
        for number in range(VARIATIONS):
            for case in CASES:
                yield make_case(case, number, artifacts)

    def gold_answer(self, task: Task) -> str:
        """Return the names of the functions of the gold calls, separated by `; `."""
        return task.gold["plan"]

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        steps = task.gold["steps"]
        check = check_case(steps, result.seen)
        is_answered = result.ending == Ending.ANSWERED
        problem = check.problem or ("" if is_answered else "there is no answer")
        return (
            Score("success", float(not problem), detail=problem),
            Score(
                "gold_calls", check.completed / len(steps), detail=f"{check.completed} of {len(steps)}", of=len(steps)
            ),
        )


benchmark = VisualCases()
