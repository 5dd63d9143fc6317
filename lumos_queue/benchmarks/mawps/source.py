"""MAWPS: the rationale is the row's equation in infix form (lumos_queue.benchmarks.mawps.benchmark)."""

from __future__ import annotations

from lumos_queue.benchmarks.word_problems import MathsSource
from lumos_queue.rationales.maths.expressions import format_expression, parse_prefix
from lumos_queue.records import Task


class EquationSource(MathsSource):
    """A source whose rows state one equation, prefix or infix."""

    def plan(self, task: Task) -> str:
        return equation_in_words(task)


def equation_in_words(task: Task) -> str:
    """`The answer follows from (3 + 4) * 2 = 14.`; an equation in prefix form is turned round."""
    prefix = parse_prefix(task.gold["equation"])
    equation = task.gold["equation"].strip() if prefix is None else format_expression(prefix)
    return f"The answer follows from {equation} = {task.gold['answer']}."


source = EquationSource("mawps")
