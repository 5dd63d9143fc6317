"""Worked examples of maths problems: chains of steps, shares, an unknown, a list, and two unknowns."""

from __future__ import annotations

from lumos_queue.conversion.demos import Demo

_BUNS = (
    "A bakery packs buns in boxes of 12. On Saturday it filled 9 boxes and had 5 buns left over. On Sunday it baked "
    "twice as many buns as on Saturday. Each bun sells for $0.75. How much money does the bakery get when all buns of "
    "both days are sold?",
    "The boxes of Saturday hold 9 * 12 = 108 buns. With the 5 left over there are 108 + 5 = 113 buns. On Sunday there "
    "are 113 * 2 = 226 buns. Together that is 113 + 226 = 339 buns. They bring in 339 * 0.75 = 254.25 dollars.",
)
_TANK = (
    "A tank holds 480 litres of water. A quarter of it is used for a garden, and 15% of the rest evaporates. How many "
    "litres are left?",
    "The garden takes 480 / 4 = 120 litres, so 480 - 120 = 360 litres remain. Of these 360 * 15 / 100 = 54 litres "
    "evaporate. In the end 360 - 54 = 306 litres are left.",
)
_AGES = (
    "Lena is three times as old as her cousin. In 6 years the sum of their ages will be 44. How old is Lena now?",
    "Let x be the age of the cousin, so Lena is 3 * x years old. In 6 years they will be x + 6 and 3 * x + 6, and "
    "x + 6 + 3 * x + 6 = 44. The solution is x = 8. Lena is 3 * 8 = 24 years old.",
)
_PARTS = (
    "A machine stamps its first part at minute 7 and a further one every 7 minutes. Each part takes 65 grams of steel. "
    "How many grams of steel does the machine use in the first 40 minutes?",
    "It stamps parts at the minutes 7, 14, 21, 28 and 35, which are 5 parts. They take 5 * 65 = 325 grams of steel.",
)
_TICKETS = (
    "A theatre sold 130 tickets for $1,190 in all. A ticket costs $11 for an adult and $7 for a child. How many more "
    "tickets were sold to adults than to children?",
    "Let a and c be the numbers of tickets for adults and children. Then a + c = 130 and 11 * a + 7 * c = 1190. This "
    "gives a = 70 and c = 60, so 70 - 60 = 10 more tickets were sold to adults.",
)

DEMOS = {
    "high": (
        Demo(
            *_BUNS,
            """
Subgoal 1: Calculate how many buns there were on Saturday, in the boxes and left over.
Action 1-1: R1 = Calculator(9 * 12) = 108
Action 1-2: R2 = Calculator(R1 + 5) = 113

Subgoal 2: Calculate how many buns there were on both days, with twice as many on Sunday.
Action 2-1: R3 = Calculator(R2 * 2) = 226
Action 2-2: R4 = Calculator(R2 + R3) = 339

Subgoal 3: Calculate the money for all buns at 0.75 dollars each.
Action 3-1: R5 = Calculator(R4 * 0.75) = 254.25""",
        ),
        Demo(
            *_TANK,
            """
Subgoal 1: Calculate how much water remains after a quarter of the 480 litres is used for the garden.
Action 1-1: R1 = Calculator(480 / 4) = 120
Action 1-2: R2 = Calculator(480 - R1) = 360

Subgoal 2: Calculate how much water is left after 15% of the result of Subgoal 1 evaporates.
Action 2-1: R3 = Calculator(R2 * 15 / 100) = 54
Action 2-2: R4 = Calculator(R2 - R3) = 306""",
        ),
        Demo(
            *_AGES,
            """
Subgoal 1: Name the age of the cousin and express the age of Lena, three times as much.
Action 1-1: R1 = Define(x) = x
Action 1-2: R2 = Calculator(3 * R1) = 3x

Subgoal 2: Solve the equation that says that both ages in 6 years add up to 44.
Action 2-1: R3 = SetEquation((R1 + 6) + (R2 + 6) = 44) = x+6+3x+6 = 44
Action 2-2: R4 = SolveEquation(R3) = 8

Subgoal 3: Calculate the age of Lena from the age of the cousin.
Action 3-1: R5 = Calculator(3 * R4) = 24""",
        ),
        Demo(
            *_PARTS,
            """
Subgoal 1: Count the minutes up to 40 at which a part is stamped, every 7 minutes.
Action 1-1: R1 = Count(7, 14, 21, 28, 35) = 5

Subgoal 2: Calculate the steel for all parts at 65 grams each.
Action 2-1: R2 = Calculator(R1 * 65) = 325""",
        ),
        Demo(
            *_TICKETS,
            """
Subgoal 1: Set up the equations for the number of tickets and for the money.
Action 1-1: R1 = SetEquation(a + c = 130) = a+c = 130
Action 1-2: R2 = SetEquation(11 * a + 7 * c = 1190) = 11a+7c = 1190

Subgoal 2: Solve the equations for the tickets of adults and of children, and compare the two.
Action 2-1: R3, R4 = SolveEquation(R1, R2) = 70, 60
Action 2-2: R5 = Calculator(R3 - R4) = 10""",
        ),
    ),
    "low": (
        Demo(
            *_BUNS,
            """
Subgoal 1: Calculate how many buns the 9 boxes of Saturday hold.
Action 1-1: R1 = Calculator(9 * 12) = 108

Subgoal 2: Calculate all buns of Saturday by adding the 5 that were left over.
Action 2-1: R2 = Calculator(R1 + 5) = 113

Subgoal 3: Calculate the buns of Sunday, twice as many as the result of Subgoal 2.
Action 3-1: R3 = Calculator(R2 * 2) = 226

Subgoal 4: Calculate the buns of both days by adding the results of Subgoal 2 and Subgoal 3.
Action 4-1: R4 = Calculator(R2 + R3) = 339

Subgoal 5: Calculate the money for all buns at 0.75 dollars each.
Action 5-1: R5 = Calculator(R4 * 0.75) = 254.25""",
        ),
        Demo(
            *_TANK,
            """
Subgoal 1: Calculate a quarter of the 480 litres.
Action 1-1: R1 = Calculator(480 / 4) = 120

Subgoal 2: Calculate how much water remains after the garden.
Action 2-1: R2 = Calculator(480 - R1) = 360

Subgoal 3: Calculate 15% of the result of Subgoal 2, which evaporates.
Action 3-1: R3 = Calculator(R2 * 15 / 100) = 54

Subgoal 4: Calculate what is left by subtracting the result of Subgoal 3 from the result of Subgoal 2.
Action 4-1: R4 = Calculator(R2 - R3) = 306""",
        ),
        Demo(
            *_AGES,
            """
Subgoal 1: Name the age of the cousin.
Action 1-1: R1 = Define(x) = x

Subgoal 2: Express the age of Lena, three times the result of Subgoal 1.
Action 2-1: R2 = Calculator(3 * R1) = 3x

Subgoal 3: Set up the equation that says that both ages in 6 years add up to 44.
Action 3-1: R3 = SetEquation((R1 + 6) + (R2 + 6) = 44) = x+6+3x+6 = 44

Subgoal 4: Solve the equation for the age of the cousin.
Action 4-1: R4 = SolveEquation(R3) = 8

Subgoal 5: Calculate the age of Lena from the age of the cousin.
Action 5-1: R5 = Calculator(3 * R4) = 24""",
        ),
        Demo(
            *_PARTS,
            """
Subgoal 1: Count the minutes up to 40 at which a part is stamped, every 7 minutes.
Action 1-1: R1 = Count(7, 14, 21, 28, 35) = 5

Subgoal 2: Calculate the steel for all parts at 65 grams each.
Action 2-1: R2 = Calculator(R1 * 65) = 325""",
        ),
        Demo(
            *_TICKETS,
            """
Subgoal 1: Set up the equation for the number of tickets.
Action 1-1: R1 = SetEquation(a + c = 130) = a+c = 130

Subgoal 2: Set up the equation for the money.
Action 2-1: R2 = SetEquation(11 * a + 7 * c = 1190) = 11a+7c = 1190

Subgoal 3: Solve both equations for the tickets of adults and of children.
Action 3-1: R3, R4 = SolveEquation(R1, R2) = 70, 60

Subgoal 4: Calculate how many more tickets were sold to adults than to children.
Action 4-1: R5 = Calculator(R3 - R4) = 10""",
        ),
    ),
}
