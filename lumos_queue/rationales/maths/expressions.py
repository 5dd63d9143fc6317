"""Parses arithmetic expressions in infix or prefix notation, and writes them for the Calculator. Values are exact."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lumos_queue.scoring.numbers import read_numeral, show_number

MAX_CHARACTERS = 400  #: of an expression; bounds the depth of the tree, and with it the recursion
MAX_NESTING = 40  #: of parentheses

_TOKEN = re.compile(r"\s*(R[0-9]{1,3}|(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+|[-+*/()])")
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is written in the expression."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class StepResult:
    """The value of an earlier action: `R{number}`."""

    number: int


@dataclass(frozen=True, slots=True)
class Operation:
    """A binary operation."""

    sign: str  #: one of + - * /
    left: Expression
    right: Expression


Expression = Number | StepResult | Operation


def parse_infix(text: str) -> Expression | None:
    """Parse `2*(3+.5)` with the usual precedence. Return None for any other text."""
    tokens = _tokens(text)
    return _Infix(tokens).whole() if tokens and not any(token[0] == "R" for token in tokens) else None


def parse_arguments(text: str) -> Expression | None:
    """Parse a Calculator's arguments, which may name results: `(R1 + 2) * 0.5`. Return None for any other text."""
    tokens = _tokens(text)
    return _Infix(tokens).whole() if tokens else None


def parse_prefix(text: str) -> Expression | None:
    """Parse tokens between spaces: `- + 1 2 3` is (1 + 2) - 3, `- -5 3` is (-5) - 3. Return None for any other text."""
    stack: list[Expression] = []
    for token in reversed(text.replace("−", "-").split() if len(text) <= MAX_CHARACTERS else []):
        if token in _STRENGTH:
            if len(stack) < 2:
                return None
            left, right = stack.pop(), stack.pop()
            stack.append(Operation(token, left, right))
        elif (number := parse_infix(token)) is not None and isinstance(number, Number):
            stack.append(number)
        else:
            return None
    return stack[0] if len(stack) == 1 else None


def _tokens(text: str) -> list[str]:
    """Return the text's numbers, names of results, operators and parentheses; [] if it contains anything else."""
    text = text.strip().replace("−", "-").replace("×", "*").replace("÷", "/")
    if len(text) > MAX_CHARACTERS:
        return []
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return []
        tokens.append(match[1])
        position = match.end()
    return tokens


def _number(token: str) -> Number | StepResult | None:
    if token[0] == "R":
        return StepResult(int(token[1:]))
    if not token[-1].isdigit() and token[-1] != ".":
        return None
    value = read_numeral(token.rstrip("."))
    return None if value is None else Number(value)


class _Infix:
    """Parses tokens by recursive descent. Each method returns None if the tokens are not an expression."""

    def __init__(self, tokens: Sequence[str]):
        self.tokens, self.position, self.nesting = tokens, 0, 0

    def whole(self) -> Expression | None:
        expression = self.chain("+-", lambda: self.chain("*/", self.operand))
        return expression if self.position == len(self.tokens) else None

    def next_is(self, signs: str) -> str | None:
        if self.position < len(self.tokens) and self.tokens[self.position] in signs:
            self.position += 1
            return self.tokens[self.position - 1]
        return None

    def chain(self, signs: str, part: Callable[[], Expression | None]) -> Expression | None:
        left = part()
        while left is not None and (sign := self.next_is(signs)):
            right = part()
            left = None if right is None else Operation(sign, left, right)
        return left

    def operand(self) -> Expression | None:
        if self.next_is("("):
            self.nesting += 1
            if self.nesting > MAX_NESTING:
                return None
            inner = self.chain("+-", lambda: self.chain("*/", self.operand))
            self.nesting -= 1
            return inner if self.next_is(")") else None
        negative = self.next_is("+-") == "-"
        if self.position == len(self.tokens):
            return None
        number = _number(self.tokens[self.position])
        self.position += 1
        if negative:
            return Number(-number.value) if isinstance(number, Number) else None
        return number


def evaluate(expression: Expression, results: Sequence[Fraction] = ()) -> Fraction:
    """Return the exact value. `results`: the values of earlier actions, R1 first. Raises ZeroDivisionError."""
    if isinstance(expression, Number):
        return expression.value
    if isinstance(expression, StepResult):
        return results[expression.number - 1]
    left, right = evaluate(expression.left, results), evaluate(expression.right, results)
    if expression.sign == "+":
        return left + right
    if expression.sign == "-":
        return left - right
    return left * right if expression.sign == "*" else left / right


def format_expression(expression: Expression, name: Callable[[int], str] = "R{}".format) -> str:
    """Return an expression in infix notation with only the necessary parentheses: `(R1 + 2) * 0.5`.

    `name` returns the name of a result from its number.
    """
    if isinstance(expression, Number):
        return show_number(expression.value, decimal=True)
    if isinstance(expression, StepResult):
        return name(expression.number)
    strength = _STRENGTH[expression.sign]
    left, right = format_expression(expression.left, name), format_expression(expression.right, name)
    if isinstance(expression.left, Operation) and _STRENGTH[expression.left.sign] < strength:
        left = f"({left})"
    if _needs_parentheses(expression.right, strength):
        right = f"({right})"
    return f"{left} {expression.sign} {right}"


def _needs_parentheses(right: Expression, strength: int) -> bool:
    if isinstance(right, Number):
        return right.value < 0
    return isinstance(right, Operation) and _STRENGTH[right.sign] <= strength


def leaves(expression: Expression) -> Iterator[Number | StepResult]:
    """Yield the operands from left to right."""
    if isinstance(expression, Operation):
        yield from leaves(expression.left)
        yield from leaves(expression.right)
    else:
        yield expression


def replace_numbers(expression: Expression, replacement: Callable[[Fraction], Expression]) -> Expression:
    """Return the expression with each number replaced by `replacement(number)`, from left to right."""
    if isinstance(expression, Number):
        return replacement(expression.value)
    if isinstance(expression, StepResult):
        return expression
    left = replace_numbers(expression.left, replacement)
    return Operation(expression.sign, left, replace_numbers(expression.right, replacement))


def chain(expression: Operation) -> list[Expression]:
    """Return the operands of a chain of equal operations: `a - b - c` has three, `a + (b + c)` has two."""
    left = expression.left
    same = isinstance(left, Operation) and left.sign == expression.sign
    return [*(chain(left) if same else [left]), expression.right]  # type: ignore[arg-type]
