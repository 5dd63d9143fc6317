"""Convert ASDiv's formulas: `6+2=8`, or a sequence of equations, `9-4=5; 5+7=12`. Each operation becomes a subgoal.

Units in parentheses are removed: `6 (penny)*1 (cent/penny)` becomes `6*1`. A formula with a comparison, a remainder, an
unknown or other words is not converted.
"""

from __future__ import annotations

import re

from lumos_queue.rationales.maths.equations import final_quantity, quantity_describer
from lumos_queue.rationales.maths.expressions import Operation, parse_infix
from lumos_queue.rationales.maths.links import Linker
from lumos_queue.rationales.maths.program import ProgramBuilder
from lumos_queue.rationales.maths.question_numbers import question_numbers
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation
from lumos_queue.scoring.numeric import read_number

_UNIT = re.compile(r"\([A-Za-z][A-Za-z /.-]*\)")
_REMAINDER = re.compile(r"=\s*[0-9]+\s*r\s*[0-9]+")


def annotate(question: str, formula: str, answer: str) -> Annotation:
    """Return the gold program of a formula. Raises NotConvertible."""
    gold = read_number(answer)
    if gold is None:
        raise NotConvertible("answer_is_text")
    equations = [part for part in formula.split(";") if part.strip()]
    linker, program = Linker.of(question_numbers(question).numbers), ProgramBuilder(quantity_describer(question))
    for number, equation in enumerate(equations, start=1):
        _add(equation, final_quantity(question) if number == len(equations) else None, linker, program)
    if not program.values:
        raise NotConvertible("unreadable_expression")
    return program.finish(answer, gold)


def _add(equation: str, quantity: str | None, linker: Linker, program: ProgramBuilder) -> None:
    left, _, right = _UNIT.sub("", equation).partition("=")
    expression, right_number = parse_infix(left), read_number(right)
    if expression is None or right_number is None:
        raise NotConvertible("remainder" if _REMAINDER.search(equation) else "unreadable_expression")
    linked_expression = linker.link(expression)
    if isinstance(linked_expression, Operation):
        program.add_tree(linked_expression, quantity)
    else:
        program.add([(linked_expression, quantity)])
    program.check(right_number)
    linker.results[:] = program.values
