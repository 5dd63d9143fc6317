"""The domain of maths word problems. The invented demonstrations are for models that were not trained on LUMOS data."""

from __future__ import annotations

from lumos_queue.domains.base import Demonstration, Domain
from lumos_queue.scoring.limit import AtLimit

_DEMONSTRATIONS = (
    Demonstration(
        "A beekeeper fills 14 jars of honey from each of her 6 hives and keeps 9 jars for her family. How many jars "
        "can she sell?",
        (
            ("Subgoal 1: Calculate the number of jars that she fills.", "R1 = Calculator(14 * 6)", "84"),
            ("Subgoal 2: Calculate the number of jars that she can sell.", "R2 = Calculator(R1 - 9)", "75"),
        ),
        "She fills 14 * 6 = 84 jars. She keeps 9 of them, so she can sell 84 - 9 = 75 jars.",
        "75",
    ),
    Demonstration(
        "A ferry carries twice as many bicycles as motorcycles, and 51 of both together. How many bicycles does it "
        "carry?",
        (
            ("Subgoal 1: Define the number of motorcycles as an unknown.", "R1 = Define(m)", "m"),
            (
                "Subgoal 2: Set up the equation for bicycles and motorcycles together, and solve it.",
                "R2 = SetEquation(2 * R1 + R1 = 51); R3 = SolveEquation(R2)",
                "17",
            ),
            ("Subgoal 3: Calculate the number of bicycles.", "R4 = Calculator(2 * R3)", "34"),
        ),
        "With m motorcycles there are 2m bicycles, so 2m + m = 51 and m = 17. The ferry carries 2 * 17 = 34 bicycles.",
        "34",
    ),
    Demonstration(
        "For how many of the whole numbers 1, 2, 3, 4, 5, 6 and 7 is 5n - 4 greater than 13?",
        (
            ("Subgoal 1: Solve the inequality for n.", "R1 = SolveInequality(5n - 4 > 13)", "n > 17/5"),
            ("Subgoal 2: Count the listed numbers that fulfil it.", "R2 = Count(4, 5, 6, 7)", "4"),
        ),
        "5n - 4 > 13 means that n > 17/5 = 3.4. Of the listed numbers these are 4, 5, 6 and 7, which are 4 numbers.",
        "4",
    ),
    Demonstration(
        "A lamp flashes in each minute from 1 to 60 that is a multiple of 7. What is the sum of the minutes in which "
        "it flashes, divided by 3?",
        (
            (
                "Subgoal 1: Calculate the sum of the multiples of 7 from 1 to 60.",
                "R1 = Code(sum(n for n in range(1, 61) if n % 7 == 0))",
                "252",
            ),
            ("Subgoal 2: Divide this sum by 3.", "R2 = Calculator(R1 / 3)", "84"),
        ),
        "The multiples of 7 are 7, 14, 21, 28, 35, 42, 49 and 56. Their sum is 252, and 252 / 3 = 84.",
        "84",
    ),
)

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
    demonstrations=_DEMONSTRATIONS,
)
