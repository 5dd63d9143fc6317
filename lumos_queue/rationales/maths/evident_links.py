"""Decides among the readings of a solution by evidence. If no reading has more evidence than the others, the row waits.

A reading is a source for each operand. Readings with more unused results than another are left out, as in readings.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product

from lumos_queue.rationales.maths.calculations import SolutionLine
from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.expressions import (
    Expression,
    Number,
    Operation,
    StepResult,
    format_expression,
    leaves,
    replace_numbers,
)
from lumos_queue.rationales.maths.link_evidence import (
    Source,
    Weight,
    is_fixed_literal,
    mention_table,
    names_number,
    weigh_sources,
)
from lumos_queue.rationales.maths.mentions import PERCENT
from lumos_queue.rationales.maths.number_sources import has_source
from lumos_queue.rationales.maths.operands import Operand, list_operands, read_result_unit, result_words
from lumos_queue.rationales.maths.question_numbers import question_numbers

MAX_READINGS = 4096
MIN_MARGIN = 2  #: by which the evidence of a reading must exceed that of each other reading
REPEATED = 3  #: weight of a result that a sum or a product has twice
_CLOSE = 2  #: difference below which a source of an operand is not excluded


@dataclass(frozen=True, slots=True)
class EvidentReading:
    """The expressions of a solution's calculations with links. `doubts` are reasons why the row must wait."""

    expressions: tuple[Expression, ...]
    evidence: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(slots=True)
class ChosenLinks:
    """Gives the linked expressions of a reading to a builder that asks for them in order, as `links.Linker` does."""

    expressions: Iterator[Expression]
    results: list[Fraction] = field(default_factory=list)

    def link(self, expression: Expression, words: str = "") -> Expression:
        """Return the next expression of the reading, whose numbers are those of `expression`."""
        return next(self.expressions)


def choose_reading(question: str, lines: Sequence[SolutionLine]) -> EvidentReading:
    """Return the reading with evidence, or the best reading with doubts."""
    calculations = [calculation for line in lines for calculation in line.calculations]
    table: list[list[list[Weight]]] = []
    sourced: list[bool] = []  #: of each operand: whether it has a source if it is no result
    results: list[Source] = []
    values: list[Fraction] = []
    stated_numbers = question_numbers(question).numbers
    for line in lines:
        constants = find_constants(line.text)
        for calculation in line.calculations:
            operands = list_operands(calculation)
            unit, words = read_result_unit(calculation), result_words(calculation)
            term_unit = unit or _term_unit(operands, values, results)
            row = []
            for position, operand in enumerate(operands):
                sources = list(
                    _sources(operands, position, question, line.text, stated_numbers, constants, values, results)
                )
                weights = weigh_sources(
                    operand,
                    sources,
                    term_unit if operand.is_term else unit,
                    line.text,
                    words,
                    _partner_unit(operands, position, values, results),
                )
                best = max(weight.weight for weight in weights)
                if best > 0:
                    weights = [weight for weight in weights if best - weight.weight <= _CLOSE]
                row.append(weights)
                sourced.append(has_source(operands, position, question, line.text))
            table.append(row)
            values.append(calculation.value)
            results.append(
                Source(
                    len(values),
                    unit,
                    words,
                    is_copy=isinstance(calculation.expression, Number),
                    is_percent=_is_percent(unit, operands),
                )
            )
    return _choose([calculation.expression for calculation in calculations], table, sourced)


def _sources(
    operands: Sequence[Operand], position: int, question: str, line: str, stated_numbers, constants, values, results
) -> Iterator[Source]:
    operand = operands[position]
    matches = [results[number] for number, value in enumerate(values) if value == operand.value]
    if not operand.is_term and operand.value.denominator > 1:
        matches += [
            replace(results[number], is_hundredfold=True)
            for number, value in enumerate(values)
            if value == operand.value * 100 and results[number].is_percent
        ]
    copies = [source for source in matches if source.is_copy]
    if copies:
        yield copies[-1]  # it is the same number
        return
    if not matches or is_fixed_literal(operands, position, question, line):
        yield Source()
        return
    yield from matches
    mentions = [mention for mention in mention_table(question) if mention.value == operand.value]
    is_factor = not operand.is_term
    if mentions:
        if all(mention.is_percent for mention in mentions) and not any(
            abs(other.value) in (1, 100) for other in operands if other is not operand
        ):
            return
        for mention in mentions:
            if "dozen" in question[mention.start : mention.end].lower():
                continue  # `5 dozen` is the result of 5 * 12
            yield Source(0, mention.unit, mention.words, is_mention=not mention.is_percent)
    elif operand.value in stated_numbers:
        yield Source()
    if is_factor and (operand.value in constants or names_number(question, operand.value)):
        yield Source(is_constant=True)


def _is_percent(unit: frozenset[str], operands: Sequence[Operand]) -> bool:
    """Return whether a result is a percentage: its unit is per cent, or it is `100 - 40`."""
    return PERCENT in unit or (operands[0].value == 100 and all(operand.is_term for operand in operands))


def _term_unit(operands: Sequence[Operand], values, results) -> frozenset[str]:
    """Return a unit of the terms of a sum; empty if it is unknown."""
    for operand in operands:
        units = [results[number].unit for number, value in enumerate(values) if value == operand.value]
        unit = operand.unit or (units[0] if len(units) == 1 else frozenset())
        if operand.is_term and unit:
            return unit
    return frozenset()


def _partner_unit(operands: Sequence[Operand], position: int, values, results) -> frozenset[str]:
    """Return the unit of the number that is multiplied with an operand; empty if it is unknown."""
    if position and operands[position].sign == "*":
        partner = operands[position - 1]
    elif position + 1 < len(operands) and operands[position + 1].sign == "*":
        partner = operands[position + 1]
    else:
        return frozenset()
    if partner.value == 1:
        return partner.unit  # it is often the 1 of `1/4`, and no result
    units = [results[number].unit for number, value in enumerate(values) if value == partner.value]
    return partner.unit or (units[0] if len(units) == 1 else frozenset())


def _choose(expressions: list[Expression], table: list[list[list[Weight]]], sourced: Sequence[bool]) -> EvidentReading:
    # Sources that are literals are one way of reading: only the best of them counts.
    ways = [[_merge(weights) for weights in row] for row in table]
    count = 1
    for row in ways:
        for options in row:
            count *= len(options)
            if count > MAX_READINGS:
                return EvidentReading(tuple(expressions), doubts=("links: too many readings",))
    flat = [options for row in ways for options in row]
    flat_values = [leaf.value for expression in expressions for leaf in leaves(expression)]  # type: ignore[union-attr]
    readings: dict[tuple[str, ...], tuple[int, int, tuple[Expression, ...], tuple[Weight, ...]]] = {}
    for combination in product(*flat):
        linked = tuple(_link(expressions, combination))
        if any(_uses_twice(expression) for expression in linked):
            continue
        unused = _count_unused(linked)
        weight = sum(option.weight for option in combination) - REPEATED * sum(map(_count_repeated, linked))
        weight -= _count_unused_mentions(combination, flat, flat_values)
        key = tuple(_canonical(expression) for expression in linked)
        if key not in readings or readings[key][1] < weight:
            readings[key] = unused, weight, linked, combination
    if not readings:
        return EvidentReading(tuple(expressions), doubts=("links: no reading",))
    fewest = min(unused for unused, *_ in readings.values())
    ranking = sorted(
        (reading for reading in readings.values() if reading[0] == fewest), key=lambda reading: -reading[1]
    )
    best = ranking[0]
    doubts, evidence = [], []
    if fewest:
        doubts.append(f"unused: {_show_unused(best[2])}")
    for value, option, options, has_literal in zip(flat_values, best[3], flat, sourced, strict=True):
        if not option.source.result and not has_literal:
            doubts.append(f"number: {value} is neither in the question nor a constant that the line names")
        if option.is_contradicted:
            doubts.append(f"links: {value} is hardly {_show_source(option)}")
        if len(options) > 1:
            evidence.append(f"{value} is {_show_source(option)}")
    if len(ranking) > 1:
        rival = ranking[1]
        if best[1] - rival[1] < MIN_MARGIN:
            doubts.append(
                "links: "
                + ", ".join(
                    f"{value} may be {_show_source(first)} or {_show_source(second)}"
                    for value, first, second in zip(flat_values, best[3], rival[3], strict=True)
                    if first.source.result != second.source.result
                )
            )
    return EvidentReading(best[2], tuple(evidence), tuple(doubts))


def _merge(weights: list[Weight]) -> list[Weight]:
    """Return the weights with only the best literal."""
    literals = [weight for weight in weights if not weight.source.result]
    merged = [weight for weight in weights if weight.source.result]
    return merged + ([max(literals, key=lambda weight: weight.weight)] if literals else [])


def _link(expressions: Sequence[Expression], combination: Sequence[Weight]) -> Iterator[Expression]:
    options = iter(combination)

    def replacement(value: Fraction) -> Expression:
        source = next(options).source
        if not source.result:
            return Number(value)
        result = StepResult(source.result)
        return Operation("*", result, Number(Fraction(1, 100))) if source.is_hundredfold else result

    for expression in expressions:
        yield replace_numbers(expression, replacement)


def _uses_twice(expression: Expression) -> bool:
    """Return whether a result is divided by itself or subtracted from itself."""
    if not isinstance(expression, Operation):
        return False
    left, right = expression.left, expression.right
    if expression.sign in "-/" and isinstance(right, StepResult) and right in (left, *_last_parts(left)):
        return True
    return _uses_twice(left) or _uses_twice(right)


def _last_parts(expression: Expression) -> Iterator[Expression]:
    """Yield the operands of a chain of sums, or of products."""
    if isinstance(expression, Operation):
        signs = "+-" if expression.sign in "+-" else "*/"
        for part in (expression.left, expression.right):
            if isinstance(part, Operation) and part.sign in signs:
                yield from _last_parts(part)
            else:
                yield part


def _count_repeated(expression: Expression) -> int:
    """Return how many operands of sums and products are a result that another operand is, too."""
    if not isinstance(expression, Operation):
        return 0
    numbers = [part.number for part in _flatten(expression, expression.sign) if isinstance(part, StepResult)]
    return len(numbers) - len(set(numbers))


def _canonical(expression: Expression) -> str:
    """Return the formula with the operands of sums and products in order."""
    if not isinstance(expression, Operation):
        return format_expression(expression)
    if expression.sign in "+*":
        parts = sorted(_canonical(part) for part in _flatten(expression, expression.sign))
        return f"({expression.sign.join(parts)})"
    return f"({_canonical(expression.left)}{expression.sign}{_canonical(expression.right)})"


def _flatten(expression: Expression, sign: str) -> Iterator[Expression]:
    if isinstance(expression, Operation) and expression.sign == sign:
        yield from _flatten(expression.left, sign)
        yield from _flatten(expression.right, sign)
    else:
        yield expression


def _count_unused(expressions: Sequence[Expression]) -> int:
    used_numbers = {
        leaf.number for expression in expressions for leaf in leaves(expression) if isinstance(leaf, StepResult)
    }
    return sum(number not in used_numbers for number in range(1, len(expressions)))


def _count_unused_mentions(
    combination: Sequence[Weight], flat: Sequence[Sequence[Weight]], values: Sequence[Fraction]
) -> int:
    """Return how many numbers of the question that a result equals are not used as numbers of the question."""
    mentioned = {
        value
        for value, options in zip(values, flat, strict=True)
        if any(option.source.is_mention for option in options)
    }
    used = {value for value, option in zip(values, combination, strict=True) if not option.source.result}
    return len(mentioned - used)


def _show_unused(expressions: Sequence[Expression]) -> str:
    used_numbers = {
        leaf.number for expression in expressions for leaf in leaves(expression) if isinstance(leaf, StepResult)
    }
    return ", ".join(f"R{number}" for number in range(1, len(expressions)) if number not in used_numbers)


def _show_source(option: Weight) -> str:
    source = option.source
    name = f"R{source.result}" if source.result else "a constant" if source.is_constant else "of the question"
    return name + (f" ({', '.join(option.reasons)})" if option.reasons else "")
