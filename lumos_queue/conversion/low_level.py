"""Convert annotations to low-level subgoals: each names one operation and its operands, in the same short wording.

The sources word their steps in different ways and name quantities, which a small model imitates wrongly. But the answer
depends only on the numbers, their order and the operation: `Subtract 5 from the result of Subgoal 1.`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from lumos_queue.errors import SpecError
from lumos_queue.rationales.maths.expressions import (
    Expression,
    Operation,
    StepResult,
    chain,
    evaluate,
    format_expression,
    leaves,
    parse_arguments,
)
from lumos_queue.rationales.maths.wording import MAX_OPERANDS, step_sentence
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Subgoal
from lumos_queue.scoring.numbers import show_number

CALCULATOR = "Calculator"


def to_low_level(annotation: Annotation) -> Annotation:
    """Return the same solution with a subgoal for each operation, in the short wording.

    Sums and products may have several operands. Raises SpecError for actions other than the Calculator, for a result
    without short decimals, and if the last result is not the answer. Reports count the rows by the error's message.
    """
    steps: list[Operation] = []
    values: list[Fraction] = []
    #: By variable number of the annotation: the new step with its result.
    bindings: dict[int, Expression] = {}
    for subgoal in annotation.steps:
        for action in subgoal.actions:
            if action.name != CALCULATOR:
                raise SpecError(f"has {action.name or 'an alias'}")
            expression = parse_arguments(action.arguments)
            if expression is None:
                raise SpecError("is no arithmetic")
            last = _take_apart(_bind(expression, bindings), steps)
            bindings[int(action.variables[0].removeprefix("R"))] = last
    steps = _without_unused(steps) if steps else []
    for step in steps:
        values.append(evaluate(step, values))
    if not steps or _format_value(values[-1]) != annotation.answer:
        raise SpecError("has another answer when taken apart")
    subgoals = []
    for number, (step, value) in enumerate(zip(steps, values, strict=True), 1):
        text = f"Subgoal {number}: {step_sentence(step, None, 'the result of Subgoal {}'.format)}."
        arguments = format_expression(step)
        action = Action((f"R{number}",), CALCULATOR, arguments, f"R{number} = {CALCULATOR}({arguments})")
        subgoals.append(AnnotatedSubgoal(Subgoal(number, text), (action,), (_format_value(value),)))
    return replace(annotation, steps=tuple(subgoals))


def _bind(expression: Expression, bindings: Mapping[int, Expression]) -> Expression:
    """Replace the results in an expression by those of the new steps. Raises SpecError for a result without a step."""
    if isinstance(expression, StepResult):
        if expression.number not in bindings:
            raise SpecError("names a result that is not there yet")
        return bindings[expression.number]
    if isinstance(expression, Operation):
        return Operation(expression.sign, _bind(expression.left, bindings), _bind(expression.right, bindings))
    return expression


def _take_apart(expression: Expression, steps: list[Operation]) -> Expression:
    """Append a step for each operation to `steps`, inner operations first. Return the expression of the last result."""
    if not isinstance(expression, Operation):
        return expression
    sign = expression.sign
    operands = chain(expression) if sign in "+*" else [expression.left, expression.right]
    parts = [_take_apart(operand, steps) for operand in operands]
    if len(parts) > MAX_OPERANDS:
        raise SpecError("has a sum of too many numbers")
    whole = parts[0]
    for part in parts[1:]:
        whole = Operation(sign, whole, part)
    steps.append(whole)  # type: ignore[arg-type]  # an operation has two operands at least
    return StepResult(len(steps))


def _without_unused(steps: list[Operation]) -> list[Operation]:
    """Return the last step and the steps that it needs, numbered anew."""
    used_numbers: set[int] = {len(steps)}
    for number in range(len(steps), 0, -1):
        if number in used_numbers:
            used_numbers |= {leaf.number for leaf in leaves(steps[number - 1]) if isinstance(leaf, StepResult)}
    new = {old: StepResult(number) for number, old in enumerate(sorted(used_numbers), 1)}
    return [_bind(steps[old - 1], new) for old in sorted(used_numbers)]  # type: ignore[misc, arg-type]


def _format_value(value: Fraction) -> str:
    """Format a value as the Calculator does. Raises SpecError for a negative value, and without short decimals."""
    if value < 0 or 10_000 % value.denominator:
        raise SpecError("has a result that is negative or has no short decimals")
    return show_number(value, decimal=True)
