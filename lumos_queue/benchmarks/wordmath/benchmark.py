"""The project's own maths word problems, generated from a grammar written for it, with gold programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark, Tried
from lumos_queue.benchmarks.wordmath.grammar import SPLITS, generate
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Score, Subgoal, Task
from lumos_queue.scoring.number_baselines import numeric_baselines
from lumos_queue.scoring.numeric import numeric_scores

SIZES = {"train": 20_000, "familiar": 1_000, "dev": 500, "test": 1_000}


class WordMath(Benchmark):
    """Problems of one to six operations; a family of problem structures lies wholly in train, dev or test.

    `test` asks for structures never seen in training, `familiar` for new problems of the trained ones.
    """

    name = "wordmath"
    domain = "maths"
    licence = "MIT"
    splits = SPLITS
    metrics = ("accuracy", "strict")
    needs_data = False

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """The tasks of a split, always the same. Raises SpecError for an unknown split, or when a path is given."""
        if path is not None:
            raise SpecError(f"wordmath makes its own tasks, but a data path was given: '{path}'. Leave it out.")
        return generate(split, SIZES.get(split, 0))

    def gold(self, task: Task) -> Annotation:
        """The program the grammar built. Raises SpecError when the task carries none."""
        try:
            steps = tuple(_annotated(number, step) for number, step in enumerate(task.gold["steps"], start=1))
            return Annotation(steps, task.gold["answer"])
        except (TypeError, KeyError):
            raise SpecError("no gold program") from None

    def score(self, task: Task, tried: Tried) -> Sequence[Score]:
        """`accuracy`: the gold number, however written; `strict`: the same string."""
        return numeric_scores(tried.answer, task.gold["answer"], tried.ending)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        """Rules that only look at the numbers."""
        return numeric_baselines(tasks, lambda task: task.gold["answer"])


def _annotated(number: int, step: Mapping) -> AnnotatedSubgoal:
    actions = tuple(
        Action(tuple(action["variables"]), action["name"], action["arguments"]) for action in step["actions"]
    )
    results = tuple(action["result"] for action in step["actions"])
    return AnnotatedSubgoal(Subgoal(number, f"Subgoal {number}: {step['subgoal']}"), actions, results)


benchmark = WordMath()
__all__ = ["SIZES", "WordMath", "benchmark", "generate"]
