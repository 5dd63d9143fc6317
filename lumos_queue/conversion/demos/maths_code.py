"""Worked examples of competition problems: cases and counting with Code, substitution in a formula, two unknowns."""

from __future__ import annotations

from lumos_queue.conversion.demos import Demo

_CASES = (
    "The function $g$ is given by $g(x) = 3x - 4$ for $x > 2$ and $g(x) = x^2 + 1$ for all other $x$. What is "
    "$g(g(1)) + g(4)$?",
    "The number $1$ is not greater than $2$, so $g(1) = 1^2 + 1 = 2$. Nor is $2$, so $g(g(1)) = g(2) = 2^2 + 1 = 5$. "
    "As $4 > 2$, $g(4) = 3 \\cdot 4 - 4 = 8$. The sum is $5 + 8 = \\boxed{13}$.",
)
_MULTIPLES = (
    "How many of the whole numbers from 1 to 50 are divisible by 3 or by 7, but not by both?",
    "There are 16 multiples of 3 and 7 multiples of 7. The multiples of both, 21 and 42, are among either, so "
    "$16 - 2 = 14$ and $7 - 2 = 5$ numbers are left of them. That makes $14 + 5 = \\boxed{19}$.",
)
_POINT = (
    "The lines $y = 2x + 1$ and $y = 7 - x$ meet in a point. What is the product of its coordinates?",
    "In the point, $2x + 1 = 7 - x$, so $x = 2$ and $y = 5$. The product is $2 \\cdot 5 = \\boxed{10}$.",
)
_FORMULA = (
    "Let $p(x) = x^2 - 4x + 9$. By how much is $p(6)$ greater than $p(2)$?",
    "$p(6) = 36 - 24 + 9 = 21$ and $p(2) = 4 - 8 + 9 = 5$, so it is greater by $21 - 5 = \\boxed{16}$.",
)

DEMOS = {
    "high": (
        Demo(
            *_CASES,
            """
Subgoal 1: Apply the function to 1, and once more to what that gives, each time by the case that holds.
Action 1-1: R1 = Code(If 1 > 2, 3 * 1 - 4, 1^2 + 1) = 2
Action 1-2: R2 = Code(If R1 > 2, 3 * R1 - 4, R1^2 + 1) = 5

Subgoal 2: Apply the function to 4 and add that to the result of Subgoal 1.
Action 2-1: R3 = Code(If 4 > 2, 3 * 4 - 4, 4^2 + 1) = 8
Action 2-2: R4 = Calculator(R2 + R3) = 13""",
        ),
        Demo(
            *_MULTIPLES,
            """
Subgoal 1: Count the multiples of 3 and the multiples of 7 from 1 to 50 that are no multiple of the other.
Action 1-1: R1 = Code(len([n for n in range(1, 51) if n % 3 == 0 and n % 7 != 0])) = 14
Action 1-2: R2 = Code(len([n for n in range(1, 51) if n % 7 == 0 and n % 3 != 0])) = 5

Subgoal 2: Add both counts.
Action 2-1: R3 = Calculator(R1 + R2) = 19""",
        ),
        Demo(
            *_POINT,
            """
Subgoal 1: Set up the equations of both lines.
Action 1-1: R1 = SetEquation(y = 2 * x + 1) = y = 2x+1
Action 1-2: R2 = SetEquation(y = 7 - x) = y = 7-x

Subgoal 2: Solve the equations for both coordinates and multiply them.
Action 2-1: R3, R4 = SolveEquation(R1, R2) = 2, 5
Action 2-2: R5 = Calculator(R3 * R4) = 10""",
        ),
        Demo(
            *_FORMULA,
            """
Subgoal 1: Write down the formula and put 6 and 2 into it.
Action 1-1: R1 = Define(x^2 - 4 * x + 9) = x^2-4x+9
Action 1-2: R2 = Calculator(R1(x=6)) = 21
Action 1-3: R3 = Calculator(R1(x=2)) = 5

Subgoal 2: Calculate the difference of both values.
Action 2-1: R4 = Calculator(R2 - R3) = 16""",
        ),
    ),
    "low": (
        Demo(
            *_CASES,
            """
Subgoal 1: Apply the function to 1 by the case that holds.
Action 1-1: R1 = Code(If 1 > 2, 3 * 1 - 4, 1^2 + 1) = 2

Subgoal 2: Apply the function to the result of Subgoal 1 by the case that holds.
Action 2-1: R2 = Code(If R1 > 2, 3 * R1 - 4, R1^2 + 1) = 5

Subgoal 3: Apply the function to 4 by the case that holds.
Action 3-1: R3 = Code(If 4 > 2, 3 * 4 - 4, 4^2 + 1) = 8

Subgoal 4: Add the results of Subgoal 2 and Subgoal 3.
Action 4-1: R4 = Calculator(R2 + R3) = 13""",
        ),
        Demo(
            *_MULTIPLES,
            """
Subgoal 1: Count the multiples of 3 from 1 to 50 that are no multiple of 7.
Action 1-1: R1 = Code(len([n for n in range(1, 51) if n % 3 == 0 and n % 7 != 0])) = 14

Subgoal 2: Count the multiples of 7 from 1 to 50 that are no multiple of 3.
Action 2-1: R2 = Code(len([n for n in range(1, 51) if n % 7 == 0 and n % 3 != 0])) = 5

Subgoal 3: Add the results of Subgoal 1 and Subgoal 2.
Action 3-1: R3 = Calculator(R1 + R2) = 19""",
        ),
        Demo(
            *_POINT,
            """
Subgoal 1: Set up the equation of the first line.
Action 1-1: R1 = SetEquation(y = 2 * x + 1) = y = 2x+1

Subgoal 2: Set up the equation of the second line.
Action 2-1: R2 = SetEquation(y = 7 - x) = y = 7-x

Subgoal 3: Solve both equations for the coordinates of the point.
Action 3-1: R3, R4 = SolveEquation(R1, R2) = 2, 5

Subgoal 4: Multiply the coordinates.
Action 4-1: R5 = Calculator(R3 * R4) = 10""",
        ),
        Demo(
            *_FORMULA,
            """
Subgoal 1: Write down the formula.
Action 1-1: R1 = Define(x^2 - 4 * x + 9) = x^2-4x+9

Subgoal 2: Put 6 into the formula.
Action 2-1: R2 = Calculator(R1(x=6)) = 21

Subgoal 3: Put 2 into the formula.
Action 3-1: R3 = Calculator(R1(x=2)) = 5

Subgoal 4: Calculate the difference of the results of Subgoal 2 and Subgoal 3.
Action 4-1: R4 = Calculator(R2 - R3) = 16""",
        ),
    ),
}
