"""Decides among the readings of a solution by evidence. If no reading has more evidence than the others, the row waits.

A reading is a source for each operand. As in readings.py, readings with more unused results than another are left out,
and solutions use what they calculate: a row with an unused result waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from lumos_queue.rationales.maths.calculations import SolutionLine
from lumos_queue.rationales.maths.expressions import (
    Expression,
    Number,
    Operation,
    StepResult,
    format_expression,
    leaves,
    replace_numbers,
)
from lumos_queue.rationales.maths.link_evidence import Weight
from lumos_queue.rationales.maths.link_sources import OperandSources, SourceTable

MAX_LINKS = 100_000  #: of all readings together; with more, none is chosen
MIN_MARGIN = 2  #: by which the evidence of a reading must exceed that of each other reading
REPEATED = 3  #: weight against a result that a sum or a product has twice
_TOO_MANY = "links: too many readings"


@dataclass(frozen=True, slots=True)
class EvidentReading:
    """The expressions of a solution's calculations with links. `doubts` are reasons why the row must wait."""

    expressions: tuple[Expression, ...]
    evidence: tuple[str, ...] = ()  #: for each operand with several sources
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    expressions: tuple[Expression, ...]
    sources: tuple[Weight, ...]  #: of each operand
    unused: tuple[int, ...]  #: the numbers of the results that no later calculation uses
    weight: int


def choose_reading(question: str, lines: Sequence[SolutionLine]) -> EvidentReading:
    """Return the reading with evidence, or the best reading with doubts."""
    table = SourceTable(question)
    for line in lines:
        table.add_line(line)
    expressions = tuple(calculation.expression for line in lines for calculation in line.calculations)
    if _has_too_many_readings(table.operands):
        return EvidentReading(expressions, doubts=(_TOO_MANY,))
    ranking = _rank(expressions, table.operands)
    if not ranking:
        return EvidentReading(expressions, doubts=("links: no reading",))
    best = ranking[0]
    doubts = list(_list_doubts(best, table.operands))
    if len(ranking) > 1 and best.weight - ranking[1].weight < MIN_MARGIN:
        doubts.append(f"links: {_describe_rival(best, ranking[1], table.operands)}")
    return EvidentReading(best.expressions, _list_evidence(best, table.operands), tuple(dict.fromkeys(doubts)))


def review_reading(
    expressions: Sequence[Expression], operands: Sequence[OperandSources], numbers: Sequence[int]
) -> EvidentReading:
    """Return the evidence for the links of a reading that a teacher chose, with the doubts about them.

    `expressions` have the values of earlier results in place of links, `operands` are the sources of these values, and
    `numbers` are those of the results to which they are linked, with 0 for a literal. As for a rule, the evidence of
    the reading must exceed that of each other reading by MIN_MARGIN.
    """
    doubts, choices = [], []
    for operand, number in zip(operands, numbers, strict=True):
        choice = next((weight for weight in operand.weights if _is_choice(weight, number)), None)
        if choice is not None:
            choices.append(choice)
        elif number:
            doubts.append(f"links: {operand.value} is hardly R{number}")
        else:
            sources = " or ".join(dict.fromkeys(_describe(weight) for weight in operand.weights))
            doubts.append(f"links: {operand.value} is {sources}, and hardly of the question")
    if doubts:
        return EvidentReading(tuple(expressions), doubts=tuple(dict.fromkeys(doubts)))
    reading = _make_reading(expressions, operands, choices)
    doubts += _list_doubts(reading, operands)
    if not doubts:
        doubts += _list_rivals(reading, expressions, operands)
    return EvidentReading(reading.expressions, _list_evidence(reading, operands), tuple(dict.fromkeys(doubts)))


def _list_rivals(
    reading: _Reading, expressions: Sequence[Expression], operands: Sequence[OperandSources]
) -> Iterator[str]:
    """Yield a doubt if another reading has more evidence, or nearly as much."""
    if _has_too_many_readings(operands):
        yield _TOO_MANY
        return
    formulas = _order_formulas(reading)
    rivals = [rival for rival in _rank(expressions, operands) if _order_formulas(rival) != formulas]
    if rivals and reading.weight - rivals[0].weight < MIN_MARGIN:
        yield f"links: {_describe_rival(reading, rivals[0], operands)}"


def _is_choice(weight: Weight, number: int) -> bool:
    return weight.source.result == number and not weight.source.is_hundredfold


def _has_too_many_readings(operands: Sequence[OperandSources]) -> bool:
    return prod(len(operand.weights) for operand in operands) * len(operands) > MAX_LINKS


def _list_evidence(reading: _Reading, operands: Sequence[OperandSources]) -> tuple[str, ...]:
    """Return the evidence for the source of each operand that has several."""
    return tuple(
        f"{operand.value} is {_describe(choice)}"
        for operand, choice in zip(operands, reading.sources, strict=True)
        if operand.is_ambiguous
    )


def _rank(expressions: Sequence[Expression], operands: Sequence[OperandSources]) -> list[_Reading]:
    """Return the readings with the fewest unused results, those with the most evidence first."""
    readings: dict[tuple[str, ...], _Reading] = {}
    for sources in product(*(operand.weights for operand in operands)):
        reading = _make_reading(expressions, operands, sources)
        if any(map(_cancels, reading.expressions)):
            continue
        formulas = _order_formulas(reading)
        if formulas not in readings or readings[formulas].weight < reading.weight:
            readings[formulas] = reading
    fewest = min((len(reading.unused) for reading in readings.values()), default=0)
    remaining = (reading for reading in readings.values() if len(reading.unused) == fewest)
    return sorted(remaining, key=lambda reading: -reading.weight)


def _make_reading(
    expressions: Sequence[Expression], operands: Sequence[OperandSources], sources: Sequence[Weight]
) -> _Reading:
    """Return the reading with these sources of the operands."""
    linked = tuple(_link(expressions, sources))
    weight = sum(choice.weight for choice in sources) - REPEATED * sum(map(_count_repeated, linked))
    weight -= _count_unused_mentions(sources, operands)
    return _Reading(linked, tuple(sources), _list_unused(linked), weight)


def _order_formulas(reading: _Reading) -> tuple[str, ...]:
    """Return the formulas of a reading. Readings that differ only in the order of a sum have the same."""
    return tuple(map(order_operands, reading.expressions))


def _list_doubts(reading: _Reading, operands: Sequence[OperandSources]) -> Iterator[str]:
    if reading.unused:
        yield f"unused: {', '.join(f'R{number}' for number in reading.unused)}"
    for operand, choice in zip(operands, reading.sources, strict=True):
        if not choice.source.result and not operand.has_literal:
            yield f"number: {operand.value} is neither in the question nor a constant that the line names"
        if choice.is_contradicted:
            yield f"links: {operand.value} is hardly {_describe(choice)}"


def _describe_rival(best: _Reading, rival: _Reading, operands: Sequence[OperandSources]) -> str:
    """Return the operands whose sources differ, with both sources."""
    return ", ".join(
        f"{operand.value} may be {_describe(first)} or {_describe(second)}"
        for operand, first, second in zip(operands, best.sources, rival.sources, strict=True)
        if first.source != second.source
    )


def _describe(choice: Weight) -> str:
    source = choice.source
    name = f"R{source.result}" if source.result else "a constant" if source.is_constant else "of the question"
    return name + (f" ({', '.join(choice.reasons)})" if choice.reasons else "")


def _link(expressions: Sequence[Expression], sources: Sequence[Weight]) -> Iterator[Expression]:
    choices = iter(sources)

    def replacement(value: Fraction) -> Expression:
        source = next(choices).source
        if not source.result:
            return Number(value)
        result = StepResult(source.result)
        return Operation("*", result, Number(Fraction(1, 100))) if source.is_hundredfold else result

    for expression in expressions:
        yield replace_numbers(expression, replacement)


def _list_unused(expressions: Sequence[Expression]) -> tuple[int, ...]:
    """Return the numbers of the results, except the last, that no expression uses."""
    operands = (leaf for expression in expressions for leaf in leaves(expression))
    used_numbers = {leaf.number for leaf in operands if isinstance(leaf, StepResult)}
    return tuple(number for number in range(1, len(expressions)) if number not in used_numbers)


def _count_unused_mentions(sources: Sequence[Weight], operands: Sequence[OperandSources]) -> int:
    """Return how many numbers of the question that equal a result are not used as numbers of the question."""
    mentioned = {operand.value for operand in operands if any(choice.source.is_mention for choice in operand.weights)}
    literals = {operand.value for operand, choice in zip(operands, sources, strict=True) if not choice.source.result}
    return len(mentioned - literals)


def _cancels(expression: Expression) -> bool:
    """Return whether a result is divided by itself or subtracted from itself."""
    if not isinstance(expression, Operation):
        return False
    left, right = expression.left, expression.right
    if expression.sign in "-/" and isinstance(right, StepResult) and right in (left, *_list_parts(left)):
        return True
    return _cancels(left) or _cancels(right)


def _list_parts(expression: Expression) -> Iterator[Expression]:
    """Yield the operands of a chain of sums and differences, or of products and quotients."""
    if isinstance(expression, Operation):
        signs = "+-" if expression.sign in "+-" else "*/"
        for part in (expression.left, expression.right):
            if isinstance(part, Operation) and part.sign in signs:
                yield from _list_parts(part)
            else:
                yield part


def _count_repeated(expression: Expression) -> int:
    """Return how often a sum or a product has a result more than once."""
    if not isinstance(expression, Operation):
        return 0
    numbers = [part.number for part in _flatten(expression, expression.sign) if isinstance(part, StepResult)]
    return len(numbers) - len(set(numbers))


def order_operands(expression: Expression, name: Callable[[int], str] = "R{}".format) -> str:
    """Return the formula with the operands of sums and products in order. `name` names a result by its number."""
    if not isinstance(expression, Operation):
        return format_expression(expression, name)
    if expression.sign in "+*":
        parts = sorted(order_operands(part, name) for part in _flatten(expression, expression.sign))
        return f"({expression.sign.join(parts)})"
    return f"({order_operands(expression.left, name)}{expression.sign}{order_operands(expression.right, name)})"


def _flatten(expression: Expression, sign: str) -> Iterator[Expression]:
    """Yield the operands of a chain of one operation."""
    if isinstance(expression, Operation) and expression.sign == sign:
        yield from _flatten(expression.left, sign)
        yield from _flatten(expression.right, sign)
    else:
        yield expression
