"""Lists the possible sources of the operands of a solution, calculation by calculation, with the weight of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from lumos_queue.rationales.maths.calculations import Calculation, SolutionLine
from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.expressions import Number
from lumos_queue.rationales.maths.link_evidence import (
    Neighbours,
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

CLOSE = 2  #: sources are left out whose weight is smaller by more than that


@dataclass(frozen=True, slots=True)
class OperandSources:
    """The sources of an operand that are not left out. Of several literals, only the one with the most evidence is."""

    value: Fraction
    weights: tuple[Weight, ...]
    is_ambiguous: bool  #: whether it had several sources before some were left out
    has_literal: bool  #: whether the number is in the question, or a constant that the line names


@dataclass
class SourceTable:
    """The sources of the operands of one solution."""

    question: str
    values: list[Fraction | None] = field(default_factory=list)  #: of the earlier calculations; None: no number
    results: list[Source] = field(default_factory=list)  #: the sources that these are
    operands: list[OperandSources] = field(default_factory=list)  #: of all calculations, from left to right

    def add_line(self, line: SolutionLine) -> None:
        """Add the operands of a line's calculations."""
        for calculation in line.calculations:
            self._add(calculation, line.text)

    def add_result(self, value: Fraction | None, words: frozenset[str]) -> None:
        """Add the result of a step that is no formula, with the words that describe it. None: it is no number."""
        self.values.append(value)
        self.results.append(Source(len(self.values), words=words))

    def _add(self, calculation: Calculation, line: str) -> None:
        operands = list_operands(calculation)
        unit, words = read_result_unit(calculation), result_words(calculation)
        term_unit = unit or self._find_term_unit(operands)
        for index, operand in enumerate(operands):
            neighbours = Neighbours(
                line, words, term_unit if operand.is_term else unit, self._find_partner_unit(operands, index)
            )
            weights = weigh_sources(operand, list(self._list_sources(operands, index, line)), neighbours)
            is_ambiguous = len(list(_merge_literals(weights))) > 1
            best = max(weight.weight for weight in weights)
            if best > 0:
                weights = [weight for weight in weights if best - weight.weight <= CLOSE]
            has_literal = has_source(operands, index, self.question, line)
            self.operands.append(
                OperandSources(operand.value, tuple(_merge_literals(weights)), is_ambiguous, has_literal)
            )
        self.values.append(calculation.value)
        self.results.append(
            Source(
                len(self.values),
                unit,
                words,
                is_copy=isinstance(calculation.expression, Number),
                is_percent=_is_percent(unit, operands),
            )
        )

    def _list_sources(self, operands: Sequence[Operand], index: int, line: str) -> Iterator[Source]:
        operand = operands[index]
        matches = list(self._match_results(operand))
        if copies := [source for source in matches if source.is_copy]:
            yield copies[-1]  # it is the same number
        elif not matches or is_fixed_literal(operands, index, self.question, line):
            yield Source()
        else:
            yield from matches
            yield from self._list_literals(operands, index, line)

    def _match_results(self, operand: Operand) -> Iterator[Source]:
        """Yield the earlier results with the operand's value, and the percentages of which it is a hundredth."""
        for value, source in zip(self.values, self.results, strict=True):
            if value == operand.value:
                yield source
        if operand.is_term or operand.value.denominator == 1:
            return
        for value, source in zip(self.values, self.results, strict=True):
            if value == operand.value * 100 and source.is_percent:
                yield replace(source, is_hundredfold=True)

    def _list_literals(self, operands: Sequence[Operand], index: int, line: str) -> Iterator[Source]:
        """Yield the mentions of an operand in the question, and a constant if the line can mean one."""
        operand = operands[index]
        mentions = [mention for mention in mention_table(self.question) if mention.value == operand.value]
        others = [abs(other.value) for position, other in enumerate(operands) if position != index]
        if mentions and all(mention.is_percent for mention in mentions) and not {1, 100}.intersection(others):
            return
        for mention in mentions:
            if "dozen" not in self.question[mention.start : mention.end].lower():  # it is the result of 5 * 12
                yield Source(0, mention.unit, mention.words, is_mention=not mention.is_percent)
        if not mentions and operand.value in question_numbers(self.question).numbers:
            yield Source()
        if not operand.is_term and (
            operand.value in find_constants(line) or names_number(self.question, operand.value)
        ):
            yield Source(is_constant=True)

    def _find_term_unit(self, operands: Sequence[Operand]) -> frozenset[str]:
        """Return a unit of the terms of a sum; empty if it is unknown."""
        units = (operand.unit or self._find_result_unit(operand) for operand in operands if operand.is_term)
        return next(filter(None, units), frozenset())

    def _find_partner_unit(self, operands: Sequence[Operand], index: int) -> frozenset[str]:
        """Return the unit of the number that is multiplied with an operand; empty if it is unknown."""
        if index and operands[index].sign == "*":
            partner = operands[index - 1]
        elif index + 1 < len(operands) and operands[index + 1].sign == "*":
            partner = operands[index + 1]
        else:
            return frozenset()
        # A 1 is often the 1 of `1/4`, and no result.
        return partner.unit if partner.value == 1 else partner.unit or self._find_result_unit(partner)

    def _find_result_unit(self, operand: Operand) -> frozenset[str]:
        """Return the unit of the only earlier result with an operand's value; empty if there is no such result."""
        units = [source.unit for value, source in zip(self.values, self.results, strict=True) if value == operand.value]
        return units[0] if len(units) == 1 else frozenset()


def _is_percent(unit: frozenset[str], operands: Sequence[Operand]) -> bool:
    """Return whether a result is a percentage: its unit is per cent, or it is `100 - 40`."""
    return PERCENT in unit or (operands[0].value == 100 and all(operand.is_term for operand in operands))


def _merge_literals(weights: Sequence[Weight]) -> Iterator[Weight]:
    """Yield the results, and the literal with the most evidence."""
    yield from (weight for weight in weights if weight.source.result)
    literals = [weight for weight in weights if not weight.source.result]
    if literals:
        yield max(literals, key=lambda weight: weight.weight)
