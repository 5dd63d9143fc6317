"""Reviews an annotation that a teacher wrote, as the rule reviews its own: are its numbers, links and results right?

Every number of an action is in the question, is an earlier result, or is a constant that its subgoal or its line of the
rationale names. A link between equal values needs evidence, and a later action uses each result but the last. The
evidence is in the words of the rationale's line with the same formula, and in those of the subgoal.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from lumos_queue.notation import replace_variables, strip_label, variables_in
from lumos_queue.rationales.maths.calculations import Calculation, SolutionLine, calculations
from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.evident_links import EvidentReading, order_operands, review_reading
from lumos_queue.rationales.maths.expressions import (
    Expression,
    Number,
    Operation,
    StepResult,
    evaluate,
    format_expression,
    leaves,
    parse_arguments,
)
from lumos_queue.rationales.maths.link_sources import SourceTable
from lumos_queue.rationales.maths.mentions import content_stems
from lumos_queue.rationales.maths.program import is_too_large
from lumos_queue.rationales.maths.question_numbers import question_numbers
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action, AnnotatedSubgoal
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import read_number

MAX_ACTIONS = 60  #: that are reviewed; a longer annotation is doubtful
MAX_OPERANDS = 30  #: of an action that is reviewed as arithmetic
MAX_CHARACTERS = 500  #: of a subgoal's words and of other arguments
_SOLVING = ("SolveEquation", "SolveInequality")
_STEP_NAME = re.compile(r"\bsubgoals? [0-9]+|\b(?:action|step)s? [0-9]+(?:-[0-9]+)?", re.IGNORECASE)
#: Words of instructions, which most subgoals have: they are no evidence that two subgoals are about the same.
_INSTRUCTION = re.compile(
    r"\b(?:calculat(?:e|es|ing|ion)|comput(?:e|es|ing)|find(?:s|ing)?|determin(?:e|es|ing)|add(?:s|ing|ed)?|sum(?:s|ming)?"
    r"|subtract(?:s|ing|ed)?|multipl(?:y|ies|ying|ied)|divid(?:e|es|ing|ed)|results?|answers?|values?|numbers?|amounts?"
    r"|totals?|previous|step|obtain(?:s|ing|ed)?|get(?:s|ting)?)\b",
    re.IGNORECASE,
)
_BLANK = re.compile(r"_{2,}|…\s*…|\.{3}\s*\.{3}")
_SPACE = re.compile(r"\s+")


def review_annotation(
    question: str, solution: str, answer: Fraction | None, steps: Sequence[AnnotatedSubgoal]
) -> EvidentReading:
    """Return the doubts about an annotation, and the evidence for its links.

    `solution` is the rationale, with marks if it has any. A solution that cannot be read gives no evidence.
    """
    doubts = list(_list_wording_doubts(steps))
    if sum(len(step.actions) for step in steps) > MAX_ACTIONS:
        return EvidentReading((), doubts=(*doubts, f"links: more than {MAX_ACTIONS} actions"))
    try:
        lines = calculations(solution, answer, all_prose=True)
    except NotConvertible:
        lines = []
    review = _Review(question, solution, _LineFinder(lines))
    for step in steps:
        words = _read_words(step.subgoal.text)
        for action, result in zip(step.actions, step.results, strict=True):
            review.add(action, result, words)
    reading = review_reading(review.expressions, review.table.operands, review.choices)
    return EvidentReading(
        reading.expressions, reading.evidence, tuple(dict.fromkeys((*doubts, *review.doubts, *reading.doubts)))
    )


def _read_words(subgoal: str) -> str:
    """Return the words of a subgoal that describe it, without its label and the names of other steps."""
    text = _STEP_NAME.sub(" ", strip_label(subgoal))
    return _SPACE.sub(" ", _INSTRUCTION.sub(" ", text)).strip()[:MAX_CHARACTERS]


def _list_wording_doubts(steps: Sequence[AnnotatedSubgoal]) -> Iterator[str]:
    visited: dict[str, int] = {}
    for step in steps:
        number, text = step.subgoal.number, _SPACE.sub(" ", strip_label(step.subgoal.text)).strip().casefold()
        if _BLANK.search(text):
            yield f"wording: Subgoal {number} has a blank"
        if text in visited:
            yield f"wording: Subgoal {number} repeats Subgoal {visited[text]}"
        visited.setdefault(text, number)


class _LineFinder:
    """Finds the calculation of a rationale that has the formula of an action, each once."""

    def __init__(self, lines: Iterable[SolutionLine]):
        self._calculations: dict[str, list[tuple[str, Calculation]]] = defaultdict(list)
        for line in lines:
            for calculation in line.calculations:
                self._calculations[order_operands(calculation.expression)].append((line.text, calculation))

    def take(self, expression: Expression) -> tuple[str, Calculation] | None:
        """Return the next line and calculation with this formula, whatever the order of its sums and products."""
        calculations = self._calculations.get(order_operands(expression))
        return calculations.pop(0) if calculations else None


@dataclass
class _Review:
    question: str
    rationale: str
    lines: _LineFinder
    table: SourceTable = field(init=False)
    expressions: list[Expression] = field(default_factory=list)  #: with values in place of links, for each result
    choices: list[int] = field(default_factory=list)  #: for each of the table's operands, the result; 0: a literal
    doubts: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  #: of the results, by variable

    def __post_init__(self) -> None:
        self.table = SourceTable(self.question)

    def add(self, action: Action, result: str, words: str) -> None:
        """Add an action with its stated result. `words` are those of its subgoal."""
        linked = parse_arguments(action.arguments) if action.name == "Calculator" else None
        if linked is not None and sum(1 for _ in leaves(linked)) > MAX_OPERANDS:
            self.doubts.append(f"links: an action has more than {MAX_OPERANDS} numbers")
            linked = None
        plain = self._fill_in(linked) if linked is not None and len(action.variables) == 1 else None
        value = _evaluate(plain) if plain is not None else None
        if plain is None or value is None:
            self._add_other(action, result, words)
            return
        choices = [self._number_of(leaf) for leaf in leaves(linked)] if linked else []
        if match := self.lines.take(plain):
            line, calculation = match
            choices = _reorder(choices, plain, calculation.expression)
            plain, before, after = calculation.expression, f"{words}. {calculation.before}", calculation.after
        else:
            line, before, after = "", f"{words}. {format_expression(plain)}", ""
        self.table.add_line(
            SolutionLine(f"{line} {words}", "", (Calculation(plain, value, before, after, copied=False),))
        )
        self.choices += choices
        self._assign(action.variables[0], plain)

    def _fill_in(self, expression: Expression) -> Expression | None:
        """Return the expression with values in place of results; None if a result is unknown or no number."""
        numbers = [leaf.number for leaf in leaves(expression) if isinstance(leaf, StepResult)]
        values = {number: value for number in numbers if (value := self._value_of(f"R{number}")) is not None}
        if any(number not in values for number in numbers):
            return None
        return _replace_results(expression, lambda leaf: Number(values[leaf.number]))

    def _value_of(self, variable: str) -> Fraction | None:
        number = self.numbers.get(variable)
        return self.table.values[number - 1] if number else None

    def _number_of(self, leaf: Number | StepResult) -> int:
        return self.numbers[f"R{leaf.number}"] if isinstance(leaf, StepResult) else 0

    def _add_other(self, action: Action, result: str, words: str) -> None:
        """Add an action that is no arithmetic: an equation, a count or a definition."""
        self.doubts += self._list_other_doubts(action, words)
        used_numbers = [
            self.numbers[variable] for variable in variables_in(action.arguments) if variable in self.numbers
        ]
        if action.name in _SOLVING and not used_numbers:
            used_numbers = list(self.numbers.values())  # it solves the equations so far
        parts = result.split(", ") if len(action.variables) > 1 else [result]
        parts += [""] * (len(action.variables) - len(parts))
        for variable, part in zip(action.variables, parts, strict=False):
            self.table.add_result(read_number(part), content_stems(f"{words} {action.arguments}"))
            self._assign(variable, _join_results(used_numbers))

    def _list_other_doubts(self, action: Action, words: str) -> Iterator[str]:
        """Yield the numbers of an action that come from nowhere, and the things that it counts without a mention."""
        rest = replace_variables(action.arguments, lambda _: " ")[:MAX_CHARACTERS]
        known_numbers = question_numbers(self.question).numbers | find_constants(words)
        for number in dict.fromkeys(map(abs, numbers_in(rest))):
            if number in known_numbers:
                continue
            if number in self.table.values:
                yield f"links: {number} is R{self.table.values.index(number) + 1}, and hardly of the question"
            else:
                yield f"number: {number} is neither in the question nor a constant that the line names"
        if action.name == "Count":
            known_words = content_stems(f"{self.question} {self.rationale}")
            for name in sorted(content_stems(rest) - known_words):
                yield f"number: {action.name} counts {name}, which is neither in the question nor in the rationale"

    def _assign(self, variable: str, expression: Expression) -> None:
        self.expressions.append(expression)
        self.numbers[variable] = len(self.expressions)


def _replace_results(expression: Expression, value_of: Callable[[StepResult], Number]) -> Expression:
    if isinstance(expression, StepResult):
        return value_of(expression)
    if isinstance(expression, Operation):
        left = _replace_results(expression.left, value_of)
        return Operation(expression.sign, left, _replace_results(expression.right, value_of))
    return expression


def _evaluate(expression: Expression) -> Fraction | None:
    """Return the value; None if there is none, or none of a size that the rule takes."""
    try:
        value = evaluate(expression)
    except ZeroDivisionError:
        return None
    return None if is_too_large(value) else value


def _reorder(choices: Sequence[int], expression: Expression, target: Expression) -> list[int]:
    """Return the choices for the operands of an expression in the order of `target`, which has the same operands."""
    remaining = list(zip(leaves(expression), choices, strict=True))
    ordered = []
    for operand in leaves(target):
        index = next((index for index, (leaf, _) in enumerate(remaining) if leaf == operand), 0)
        ordered.append(remaining.pop(index)[1])
    return ordered


def _join_results(numbers: Sequence[int]) -> Expression:
    """Return an expression that uses these results; that of no number uses none."""
    joined: Expression = StepResult(numbers[0] if numbers else 0)
    for number in numbers[1:]:
        joined = Operation("+", joined, StepResult(number))
    return joined
