"""The project's own word problems: the rationale is what the grammar did, step by step."""

from __future__ import annotations

from lumos_queue.benchmarks.word_problems import MathsSource
from lumos_queue.errors import SpecError
from lumos_queue.notation import strip_label
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation, Task


class WordMath(MathsSource):
    def gold(self, task: Task) -> Annotation:
        try:
            return self.benchmark.gold(task)
        except SpecError as error:
            raise NotConvertible("no_rationale") from error

    def plan(self, task: Task) -> str:
        """`Add 2 and 3: this gives 5.` for each step."""
        return " ".join(
            f"{strip_label(step.subgoal.text).rstrip('.')}: this gives {step.results[-1]}."
            for step in self.gold(task).steps
        )


source = WordMath("wordmath")
