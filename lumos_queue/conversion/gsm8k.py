"""GSM8K: calculator marks `<<36/3=12>>` become actions; a line with marks becomes a subgoal.

A line without a mark has nothing to execute and is left out. In the socratic files a line's sub-question is what its
subgoal calculates.
"""

from __future__ import annotations

import re
from fractions import Fraction

from lumos_queue.benchmarks.numerals import numbers_in
from lumos_queue.benchmarks.numeric import read_number
from lumos_queue.conversion.expressions import Expression, evaluate, parse_infix, replace_numbers
from lumos_queue.conversion.linking import Linker
from lumos_queue.conversion.program import MAX_ACTIONS, Program, Step
from lumos_queue.conversion.prose import quantity
from lumos_queue.conversion.reasons import NotConvertible
from lumos_queue.records import Annotation

_MARK = re.compile(r"<<([^<>]*)>>")
_SOCRATIC = re.compile(r"^([^*]*\?) \*\* ")


def annotate(question: str, solution: str, answer: str) -> Annotation:
    """The gold program of a solution (the text before `####`). Raises NotConvertible."""
    return convert(question, solution, answer)[0]


def convert(question: str, solution: str, answer: str) -> tuple[Annotation, Linker]:
    """The gold program, and how its operands were linked. Raises NotConvertible."""
    gold = read_number(answer)
    if gold is None:
        raise NotConvertible("answer_is_text")
    linker = Linker.of(numbers_in(question, words=True))
    program = Program()
    if solution.count("<<") > MAX_ACTIONS:
        raise NotConvertible("too_large")
    for line in solution.split("\n"):
        if steps := _steps(line, linker):
            program.add(steps)
    if not program.values:
        raise NotConvertible("no_mark")
    if program.values[-1] != gold and gold in program.values:
        raise NotConvertible("mark_not_last")
    return program.finish(answer, gold), linker


def _steps(line: str, linker: Linker) -> list[Step]:
    """The action of each mark of a line."""
    steps: list[Step] = []
    asked = _SOCRATIC.match(line)
    marks = list(_MARK.finditer(line))
    start = asked.end() if asked else 0
    for place, mark in enumerate(marks):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(line)
        expression, value = _read(mark[1])
        linked = replace_numbers(expression, linker.operand)
        linker.results.append(value)
        if asked and place == len(marks) - 1 and _gives_nothing_away(asked[1], linker):
            steps.append((linked, f"the answer to '{asked[1].strip()}'"))
        else:
            steps.append((linked, quantity(line[start : mark.start()], line[mark.end() : end], linker.stated)))
        start = mark.end()
    return steps


def _read(mark: str) -> tuple[Expression, Fraction]:
    """The expression of a mark, and its value, which must be what the mark states. Raises NotConvertible."""
    formula, _, stated = mark.rpartition("=")
    expression, result = parse_infix(formula.replace("//", "/")), parse_infix(stated)  # two marks divide by `//`
    if expression is None or result is None:
        raise NotConvertible("unreadable_expression")
    try:
        value = evaluate(expression)
        right = value == evaluate(result)
    except ZeroDivisionError as error:
        raise NotConvertible("division_by_zero") from error
    if not right:
        raise NotConvertible("mark_wrong")
    return expression, value


def _gives_nothing_away(text: str, linker: Linker) -> bool:
    """Whether each number of a sub-question is known by then: stated in the question, or an earlier result."""
    known = linker.stated.union(linker.results[:-1])
    return all(number in known for number in numbers_in(text, words=True))
