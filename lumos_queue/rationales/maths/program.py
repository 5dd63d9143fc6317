"""Builds an annotation from expressions: subgoals with Calculator actions, and results in the Calculator's form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from lumos_queue.rationales.maths import wording
from lumos_queue.rationales.maths.expressions import (
    Expression,
    Operation,
    StepResult,
    evaluate,
    format_expression,
    leaves,
)
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Subgoal
from lumos_queue.scoring.numbers import show_number
from lumos_queue.scoring.numerals import numbers_in

NOISE = Fraction(1, 10**9)  #: relative difference between a fraction and the same value read from a file as a float
ROUNDED = Fraction(1, 1000)  #: relative difference below which a gold answer counts as rounded

MAX_ACTIONS = 200  #: of an annotation
MAX_BITS = 4096  #: of a value's numerator or denominator

#: An action's expression, and the text of its quantity, if known.
Step = tuple[Expression, str | None]


def is_too_large(value: Fraction) -> bool:
    """Return whether a value has more than MAX_BITS in its numerator or denominator."""
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS


@dataclass(slots=True)
class ProgramBuilder:
    """Collects the subgoals of an annotation. Actions are numbered across subgoals: action k sets Rk.

    `describe` returns the text of the quantity that an inner operation calculates, or None.
    """

    describe: Callable[[Expression], str | None] = field(default=lambda _: None)
    values: list[Fraction] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    subgoals: list[AnnotatedSubgoal] = field(default_factory=list)
    _positions: list[tuple[int, int]] = field(default_factory=list)  #: (subgoal, position in it from 1) of each action

    def add(self, steps: Sequence[Step]) -> None:
        """Add one subgoal with an action for each step. Raises NotConvertible."""
        number = len(self.subgoals) + 1
        first = len(self.values)
        forms, actions = [], []
        for position, (expression, quantity) in enumerate(steps, start=1):
            sentence, plain = (wording.step_sentence(expression, words, self._name) for words in (quantity, None))
            forms.append((sentence, plain, set(numbers_in(quantity or "", words=True))))
            value = self._value(expression)
            self.lines.append(show_number(value, self._is_decimal(expression)))
            self.values.append(value)
            self._positions.append((number, position))
            variable, formula = f"R{len(self.values)}", format_expression(expression)
            actions.append(Action((variable,), "Calculator", formula, f"{variable} = Calculator({formula})"))
        results = set(self.values[first:])  # a quantity's text that contains a result, even by chance, is not used
        sentences = [plain if numbers & results else sentence for sentence, plain, numbers in forms]
        text = f"Subgoal {number}: {wording.join_sentences(sentences)}"
        self.subgoals.append(AnnotatedSubgoal(Subgoal(number, text), tuple(actions), tuple(self.lines[first:])))

    def _value(self, expression: Expression) -> Fraction:
        try:
            value = evaluate(expression, self.values)
        except ZeroDivisionError as error:
            raise NotConvertible("division_by_zero") from error
        if is_too_large(value) or len(self.values) == MAX_ACTIONS:
            raise NotConvertible("too_large")
        return value

    def _is_decimal(self, expression: Expression) -> bool:
        """Return whether the Calculator writes the value as a decimal, because an operand is a decimal."""
        return any(
            "." in (self.lines[leaf.number - 1] if isinstance(leaf, StepResult) else format_expression(leaf))
            for leaf in leaves(expression)
        )

    def _name(self, result: int) -> str:
        """Return the name of a result in a plan, such as `the result of Subgoal 2`."""
        subgoal, position = self._positions[result - 1]
        siblings = sum(1 for number, _ in self._positions if number == subgoal)
        if subgoal > len(self.subgoals):
            return "that result" if position == siblings else f"result {position} of this subgoal"
        return f"the result of Subgoal {subgoal}" if position == siblings else f"result {position} of Subgoal {subgoal}"

    def add_tree(self, expression: Expression, quantity: str | None = None) -> Expression:
        """Add a subgoal for each operation, inner operations first, and return a reference to the last result.

        A chain such as `a + b + c` is one operation. `quantity`: the text of the last subgoal's quantity.
        """
        if not isinstance(expression, Operation):
            return expression
        flat = self._without_inner(expression)
        self.add([(flat, quantity or self.describe(flat))])
        return StepResult(len(self.values))

    def _without_inner(self, expression: Operation) -> Operation:
        left = expression.left
        if isinstance(left, Operation) and left.sign == expression.sign:
            left = self._without_inner(left)
        else:
            left = self.add_tree(left)
        return Operation(expression.sign, left, self.add_tree(expression.right))

    def check(self, target_value: Fraction) -> None:
        """Raise NotConvertible if the last value differs from the target value by more than a float's rounding."""
        difference = abs(self.values[-1] - target_value)
        if difference > NOISE * abs(target_value):
            raise NotConvertible("rounded" if difference <= ROUNDED * abs(target_value) else "value_differs")

    def finish(self, answer: str, gold: Fraction) -> Annotation:
        """Return the annotation. Raises NotConvertible if the last value is not the gold answer."""
        self.check(gold)
        return Annotation(tuple(self.subgoals), answer)
