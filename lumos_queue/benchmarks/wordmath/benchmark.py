"""The project's own maths word problems, generated from a grammar written for it, with gold programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.word_problems import WordProblems
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.notation import strip_label
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Subgoal, Task

SIZES = {"train": 20_000, "familiar": 1_000, "dev": 500, "test": 1_000}


class WordMath(WordProblems):
    """Problems of one to six operations. All problems of a family, a problem structure, are in the same split.

    Of four training problems, three are composed from clauses and relations, and one fills a template of a training
    family. `test` has families that are not in training; `familiar` has new problems of the training families.
    """

    name = "wordmath"
    licence = "MIT"
    splits = tuple(SIZES)
    needs_data = False

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """Return the tasks of a split, always the same. Raises SpecError for an unknown split, and for any `path`."""
        if path is not None:
            raise SpecError(f"wordmath makes its own tasks, but a data path was given: '{path}'. Leave it out.")
        from lumos_queue.benchmarks.wordmath.grammar import generate  # reports of its jobs do not need it

        return generate(split, SIZES.get(split, 0))

    def gold(self, task: Task) -> Annotation:
        """Return the program that the grammar built. Raises NotConvertible if the task has no program."""
        try:
            steps = tuple(_annotate(number, step) for number, step in enumerate(task.gold["steps"], start=1))
            return Annotation(steps, task.gold["answer"])
        except (TypeError, KeyError):
            raise NotConvertible("no_rationale") from None

    def rationale(self, task: Task) -> str:
        """Return the steps of the gold program as text: `Add 2 and 3: this gives 5.`"""
        return " ".join(
            f"{strip_label(step.subgoal.text).rstrip('.')}: this gives {step.results[-1]}."
            for step in self.gold(task).steps
        )


def _annotate(number: int, step: Mapping[str, Any]) -> AnnotatedSubgoal:
    actions = tuple(
        Action(tuple(action["variables"]), action["name"], action["arguments"]) for action in step["actions"]
    )
    results = tuple(action["result"] for action in step["actions"])
    return AnnotatedSubgoal(Subgoal(number, f"Subgoal {number}: {step['subgoal']}"), actions, results)


benchmark = WordMath()
