"""ToolWorld: generated questions that are answered by calling generated APIs, with dials for faults and difficulty.

    Find (1) the weight of the depot of the shipment SH-48213; (2) the fee of the driver DR-70118. Answer with …

A question has one to three parts. A part is a chain of one to three calls: the value of a call is the argument of the
next call. By default, two APIs with different names answer each call; look-alikes do not answer. Splits have the names
of ToolBench's subsets: `-inst` has other tasks with the tools of training, `-tool` and `-cat` have tools and categories
that no training task has. Tasks have ToolBench's form and include the answers of their APIs, so everything that reads
or simulates ToolBench's tasks also works for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.toolworld.answer_check import PartCheck, check_answer
from lumos_queue.benchmarks.toolworld.dials import OPTIONS, SIZES, TRAIN, Dials, read_dials
from lumos_queue.benchmarks.toolworld.generate import NAME, make_tasks
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Score, Task

PASS, SOLVABLE, UNSOLVABLE = "pass", "verified_pass", "right_refusal"


def _is_solvable(task: Task) -> bool:
    return all(part["answer"] is not None for part in task.gold["parts"])


GROUPS: Mapping[str, Callable[[Task], str]] = {
    "parts": lambda task: str(len(task.gold["parts"])),
    "solvable": lambda task: "yes" if _is_solvable(task) else "no",
}


class ToolWorld(Benchmark):
    """The benchmark. A part of an answer is right if it has the part's value, or 'unknown' if the part has no value.

    Metrics: `pass` is 1 if every part is right. `verified_pass` is the same, for solvable tasks. `right_refusal`, for
    all other tasks, is 1 if the answer states for every part without a value that it is unknown. `partial` is the
    share of right parts. `false_finish` is 1 if the answer claims a wrong value or omits a part.
    """

    name = NAME
    domain = "tools"
    licence = "MIT"
    splits = tuple(SIZES)
    test_splits = tuple(split for split in SIZES if split != TRAIN)
    needs_data = False
    metrics = (PASS, SOLVABLE, UNSOLVABLE, "partial", "false_finish")
    options = OPTIONS
    groups = GROUPS

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """Yield the tasks of a split, always the same for the same options. Raises SpecError."""
        if path is not None:
            raise SpecError(f"The tasks of '{NAME}' are generated: leave out --data.")
        dials = read_dials(split, options)
        self.notes = [_describe(dials)]
        return make_tasks(split, dials)

    def gold_answer(self, task: Task) -> str:
        return "; ".join(
            f"{number}: {part['answer'] or 'unknown'}" for number, part in enumerate(task.gold["parts"], start=1)
        )

    def metrics_of(self, task: Task) -> tuple[str, ...]:
        return tuple(metric for metric in self.metrics if metric != (UNSOLVABLE if _is_solvable(task) else SOLVABLE))

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Return the metrics that apply to the task (`metrics_of`), with the verdict on each part as the detail."""
        parts = task.gold["parts"]
        checks = check_answer(parts, result.answer)
        right = [check == PartCheck.RIGHT for check in checks]
        detail = "; ".join(f"{number}: {check}" for number, check in enumerate(checks, start=1))
        has_answer = bool(result.answer and result.answer.strip())
        is_false = has_answer and any(check in (PartCheck.WRONG, PartCheck.MISSING) for check in checks)
        is_refused = all(is_right for is_right, part in zip(right, parts, strict=True) if part["answer"] is None)
        values = {
            PASS: Score(PASS, float(all(right)), detail=detail),
            SOLVABLE: Score(SOLVABLE, float(all(right)), detail=detail),
            "partial": Score("partial", sum(right) / len(right), detail=detail, of=len(right)),
            "false_finish": Score("false_finish", float(is_false), detail=detail),
            UNSOLVABLE: Score(UNSOLVABLE, float(is_refused), detail=detail),
        }
        return [values[name] for name in self.metrics_of(task)]


def _describe(dials: Dials) -> str:
    """Return a note for the user with the settings of the tasks."""
    text = f"generated with seed {dials.seed}, faults {dials.faults:g}, traps {dials.traps:g}, "
    text += f"unsolvable parts {dials.unsolvable:g}"
    if not dials.context:
        return text
    longer = "whole answers count: models are shown as much of each as --tool observation=N says"
    return f"{text}; gold transcripts of {dials.ratio:g} x {dials.context:,} characters ({longer})"


benchmark = ToolWorld()
