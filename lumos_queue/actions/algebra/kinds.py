"""The kinds of failure of a maths action (the `status` of its Execution), and the limits of formulas."""

from __future__ import annotations

from lumos_queue.errors import ActionError

KINDS = {
    "unreadable": "the action's text could not be read",
    "unknown_action": "no action of that name",
    "undefined_variable": "a variable that no earlier action has set",
    "syntax": "the arguments are not a formula",
    "arity": "too many or too few arguments, variables or unknowns",
    "division_by_zero": "a division by zero",
    "not_a_number": "a value of another kind is used where a number or an expression is needed",
    "no_solution": "no real solution",
    "unsolved": "sympy has no answer",
    "too_large": "the text, a number or the reply passes its limit",
    "timeout": "more processor time than is allowed",
    "memory": "more memory than is allowed",
    "crashed": "the child died twice over the same request, or the interpreter of Code did",
    "refused": "a program asks for a file, the environment, the network, a process or a module that is not there",
    "failed": "a program ends with its own error, or without a value",
}

MAX_TEXT = 4_000  #: characters of an action's arguments, and of a value's text
MAX_TOKENS = 600
MAX_NODES = 5_000  #: of a formula with its variables' values filled in
MAX_DEPTH = 60  #: nested brackets, signs and powers
MAX_BITS = 4_096  #: of a numerator or denominator; about 1,230 digits
MAX_POWER = 1_000  #: of a whole-numbered exponent


def failure(kind: str, message: str) -> ActionError:
    """Return an ActionError of this kind, which must be a key of KINDS."""
    assert kind in KINDS, kind
    return ActionError(kind, message)
