"""A gold program under construction: numbers, subgoals as text, and actions with their exact results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, slots=True)
class GoldValue:
    """The result of an earlier action: its exact value, its variable, and the words by which later subgoals name it."""

    value: Fraction
    variable: str
    words: str
    decimal: bool = False  #: whether one of its operands is a decimal; then it is printed as a decimal


Operand = int | Decimal | GoldValue
OPERATORS = "+-*/"

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def value_of(operand: Operand) -> Fraction:
    return operand.value if isinstance(operand, GoldValue) else Fraction(operand)


def is_decimal(operand: Operand) -> bool:
    return operand.decimal if isinstance(operand, GoldValue) else isinstance(operand, Decimal)


def write_words(operand: Operand) -> str:
    return operand.words if isinstance(operand, GoldValue) else str(operand)


def in_code(operand: Operand) -> str:
    return operand.variable if isinstance(operand, GoldValue) else str(operand)


def show_value(value: Fraction, decimal: bool) -> str:
    """Return the value as the maths tools print it: `5`, `1.5` if an operand is a decimal, else `3/5`."""
    if value.denominator == 1:
        return str(value.numerator)
    if not decimal:
        return f"{value.numerator}/{value.denominator}"
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return format(exact.normalize(), "f")


def join_words(words: list[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


@dataclass(frozen=True, slots=True)
class Sum:
    """An arithmetic operation over operands: its value, its words and its code."""

    operator: str  #: '+', '-', '*', '/', '%' (a rate of a whole) or 'of' (a fraction of a whole)
    operands: tuple[Operand, ...]

    @property
    def value(self) -> Fraction:
        first, *rest = (value_of(operand) for operand in self.operands)
        if self.operator == "%":
            return first * rest[0] / 100
        if self.operator == "of":
            return first * rest[0] / rest[1]
        for operand in rest:
            match self.operator:
                case "+":
                    first += operand
                case "-":
                    first -= operand
                case "*":
                    first *= operand
                case _:
                    first /= operand
        return first

    @property
    def decimal(self) -> bool:
        return any(is_decimal(operand) for operand in self.operands)

    @property
    def words(self) -> str:
        first, *rest = words = [write_words(operand) for operand in self.operands]
        match self.operator:
            case "+":
                return f"adding {join_words(words)}"
            case "-":
                return f"subtracting {join_words(rest)} from {first}"
            case "*" if len(rest) == 1:
                return f"multiplying {first} by {rest[0]}"
            case "*":
                return f"multiplying {join_words(words)}"
            case "/":
                return f"dividing {first} by {rest[0]}"
            case "%":
                return f"taking {rest[0]} percent of {first}"
            case _:
                return f"taking {rest[0]}/{rest[1]} of {first}"

    @property
    def code(self) -> str:
        codes = [in_code(operand) for operand in self.operands]
        if self.operator == "%":
            return f"{codes[0]} * {codes[1]} / 100"
        if self.operator == "of":
            return f"{codes[0]} * {codes[1]} / {codes[2]}"
        return f" {self.operator} ".join(codes)


class ProblemBuilder:
    """Builds the steps of a gold program.

    Each step is a dict for JSON: a `subgoal` and its `actions` (variables, name, arguments, result).
    """

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.results: list[Fraction] = []  #: the numeric results in order
        self.answer = ""
        self._variables = 0

    @property
    def operations(self) -> int:
        """The number of arithmetic operators in all actions, plus the number of counted lists."""
        actions = [action for step in self.steps for action in step["actions"]]
        signs = sum(action["arguments"].count(f" {sign} ") for action in actions for sign in OPERATORS)
        return signs + sum(action["name"] == "Count" for action in actions)

    def is_sound(self) -> bool:
        """Whether all results are readable positive numbers, and no subgoal states its own result.

        Also false for programs of more than six operations.
        """
        for value in self.results:
            if not 0 < value <= 200_000 or 100 % value.denominator:
                return False
        for step in self.steps:
            stated_numbers = set(_NUMBER.findall(step["subgoal"]))
            for action in step["actions"]:
                operands = set(_NUMBER.findall(action["arguments"]))
                if action["name"] not in ("SetEquation", "Define") and action["result"] in stated_numbers - operands:
                    return False
                if action["name"] == "Calculator" and "/" in action["result"]:
                    return False
        return self.operations <= 6

    def _action(self, name: str, arguments: str, result: str) -> dict[str, Any]:
        self._variables += 1
        return {"variables": [f"R{self._variables}"], "name": name, "arguments": arguments, "result": result}

    def _note(self, subgoal: str, actions: list[dict[str, Any]]) -> None:
        self.steps.append({"subgoal": subgoal, "actions": actions})
        self.answer = actions[-1]["result"]

    def _result(self, value: Fraction, action: dict[str, Any], ordinal: str = "", decimal: bool = False) -> GoldValue:
        self.results.append(value)
        number = len(self.steps) + 1
        return GoldValue(value, action["variables"][0], f"the {ordinal}result of subgoal {number}", decimal)

    def calculate(self, quantity: str, operation: Sum) -> GoldValue:
        """Add a subgoal with a Calculator action, and return its result."""
        action = self._action("Calculator", operation.code, show_value(operation.value, operation.decimal))
        result = self._result(operation.value, action, decimal=operation.decimal)
        self._note(f"Calculate {quantity} by {operation.words}.", [action])
        return result

    def calculate_both(self, quantities: tuple[str, str], operations: tuple[Sum, Sum]) -> tuple[GoldValue, GoldValue]:
        """Add a subgoal with two Calculator actions, and return their results."""
        first, second = (
            self._action("Calculator", operation.code, show_value(operation.value, operation.decimal))
            for operation in operations
        )
        results = (
            self._result(operations[0].value, first, "first ", operations[0].decimal),
            self._result(operations[1].value, second, "second ", operations[1].decimal),
        )
        description = " and ".join(
            f"{quantity} by {operation.words}" for quantity, operation in zip(quantities, operations, strict=True)
        )
        self._note(f"Calculate {description}.", [first, second])
        return results

    def count(self, quantity: str, items: list[str]) -> GoldValue:
        """Add a subgoal with a Count action over a list of words, and return its result."""
        action = self._action("Count", ", ".join(items), str(len(items)))
        result = self._result(Fraction(len(items)), action)
        self._note(f"Count {quantity}: {join_words(items)}.", [action])
        return result

    def solve(self, quantity: str, description: str, equation: str, value: int, define: bool = False) -> GoldValue:
        """Add subgoals that set up an equation in x and solve it, and return its result.

        `description` is the text after 'where'. With `define`, a separate subgoal defines x first.
        """
        unknown = "x"
        if define:
            action = self._action("Define", "x", "x")
            self._note(f"Define the variable x for {quantity}.", [action])
            unknown = action["variables"][0]
        left_side, _, right = equation.partition(" = ")
        displayed_equation = f"{left_side.replace(' ', '')} = {right}"  # as the maths tools print an equation
        equation_action = self._action("SetEquation", equation.replace("x", unknown), displayed_equation)
        subject = "" if define else f" for {quantity} x"
        self._note(f"Set up the equation{subject} where {description}.", [equation_action])
        solution_action = self._action("SolveEquation", equation_action["variables"][0], str(value))
        result = self._result(Fraction(value), solution_action)
        self._note(f"Solve the equation for {quantity}.", [solution_action])
        return result
