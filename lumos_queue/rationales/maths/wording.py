"""Writes subgoals from expressions: the operation and its operands, never the result.

Calculate how many tarts Ida sold on Monday by dividing 36 by 3.
Subtract the result of Subgoal 1 from 20.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lumos_queue.rationales.enumeration import enumerate_words
from lumos_queue.rationales.maths.expressions import Expression, Operation, StepResult, chain, format_expression, leaves

MAX_OPERANDS = 4  #: of a readable sentence; with more operands, the sentence contains the formula

_VERBS = {
    "+": ("Add", "adding"),
    "-": ("Subtract", "subtracting"),
    "*": ("Multiply", "multiplying"),
    "/": ("Divide", "dividing"),
}
_NOUNS = {"+": "sum", "-": "difference", "*": "product", "/": "quotient"}

Name = Callable[[int], str]  #: from the number of a result to its name in a plan


def step_sentence(expression: Expression, quantity: str | None, name: Name) -> str:
    """Return an action's sentence without its full stop. `quantity`: the result's text, `how many tarts he sold`."""
    if not isinstance(expression, Operation):
        if isinstance(expression, StepResult):
            return f"Take {name(expression.number)}" + (f" as {quantity}" if quantity else "")
        return f"Determine {quantity or 'the next quantity'}"
    if quantity is None:
        return operation_phrase(expression, name, gerund=False)
    return f"Calculate {quantity} by {operation_phrase(expression, name, gerund=True)}"


def operation_phrase(expression: Operation, name: Name, gerund: bool) -> str:
    """Return an operation as text: `Divide 36 by 3`, or `dividing 36 by 3` if `gerund`."""
    if sum(1 for _ in leaves(expression)) > MAX_OPERANDS:
        return f"{'working' if gerund else 'Work'} out {format_expression(expression, name)}"
    verb = _VERBS[expression.sign][gerund]
    operands = [noun_phrase(operand, name) for operand in chain(expression)]
    first, rest = operands[0], enumerate_words(operands[1:])
    if expression.sign == "+" or (expression.sign == "*" and len(operands) > 2):
        return f"{verb} {enumerate_words(operands)}"
    if expression.sign == "-":
        return f"{verb} {rest} from {first}"
    return f"{verb} {first} by {rest}"


def noun_phrase(expression: Expression, name: Name) -> str:
    """Return an expression as a noun: `36`, `the result of Subgoal 1`, or `the sum of 3 and 4`."""
    if isinstance(expression, StepResult):
        return name(expression.number)
    if not isinstance(expression, Operation):
        return format_expression(expression)
    operands = chain(expression) if expression.sign in "+*" else [expression.left, expression.right]
    return f"the {_NOUNS[expression.sign]} of {enumerate_words([noun_phrase(operand, name) for operand in operands])}"


def join_sentences(sentences: Sequence[str]) -> str:
    """Return the sentences of a subgoal's actions as one sentence."""
    first, *rest = sentences
    return first + "".join(f", then {sentence[0].lower()}{sentence[1:]}" for sentence in rest) + "."
