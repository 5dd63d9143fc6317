"""Maths word problems."""

from __future__ import annotations

from lumos_queue.domains.base import Domain
from lumos_queue.scoring.limit import AtLimit

DOMAIN = Domain(
    name="maths",
    interface="lumos_queue.actions.maths.interface:MathsActions",
    action_names=("Calculator", "SetEquation", "SolveEquation", "Count", "SolveInequality", "Code", "Define"),
    stateless=True,
    at_limit=AtLimit.CONCLUDE,
    # spec/lumos.md 1.4, verbatim
    published_actions=(
        "The available action list is 'Calculator', 'SetEquation', 'SolveEquation', 'Count', 'SolveInequality', "
        "'Code', and 'Define'.\n"
        "Calculator(formula): Calculate the input formula; SetEquation(equation): Set up an equation to be solved; "
        "SolveEquation(equation): Solve the previous set equation; "
        "Count(list): Count the number of elements in the given list; "
        "SolveInequality(inequality): Solve the previous set inequality; "
        "Code(pseudo_code): Generate a Python function that corresponds to the pseudo code; "
        "Define(variable/number): Define a variable or a number for latter usage.\n\n"
    ),
)
