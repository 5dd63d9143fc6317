"""The work that everybody does: questions of K = 2..7 additions, and what a planner and a grounder say to each prompt.

A question states all of its amounts, so the right reply to a prompt follows from the prompt alone: no table of replies,
and a fake server that costs next to nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

MARK = "one after another: "
STOP = "Yes, I will stop planning."
KEEP = "No, I will keep planning. "


@dataclass(frozen=True, slots=True)
class Question:
    """One task. About as long as a question of GSM8K."""

    number: int
    text: str
    amounts: tuple[int, ...]

    @property
    def answer(self) -> str:
        return str(sum(self.amounts))

    @property
    def calls(self) -> int:
        """Model calls needed: a subgoal and its action for each addition, and one in which the planner stops."""
        return 2 * (len(self.amounts) - 1) + 1


def question(number: int) -> Question:
    """The question of that number, always the same."""
    draw = random.Random(number)
    amounts = tuple(draw.randint(2, 99) for _ in range(draw.randint(2, 7) + 1))
    text = (
        f"The clerk of shop {number} counts the coins in the till every morning before the doors open, and once more "
        f"in the evening when the last guest has left. On Monday these amounts went into the till, {MARK}"
        f"{', '.join(map(str, amounts))}. How many coins are in the till now?"
    )
    return Question(number, text, amounts)


def questions(first: int, count: int) -> list[Question]:
    return [question(number) for number in range(first, first + count)]


def amounts_in(text: bytes) -> list[bytes]:
    """The amounts that a prompt states. Raises ValueError when it states none."""
    begin = text.index(MARK.encode()) + len(MARK)
    return text[begin : text.index(b".", begin)].split(b", ")


def planner_reply(amounts: Sequence[bytes], turn: int) -> str:
    """The planner's reply of that turn, counted from 1."""
    if turn >= len(amounts):
        return STOP
    subgoal = f"Subgoal {turn}: Calculate the number of coins after {amounts[turn].decode()} more went into the till."
    return subgoal if turn == 1 else KEEP + subgoal


def grounder_reply(amounts: Sequence[bytes], turn: int) -> str:
    """The grounder's reply of that turn, counted from 1."""
    before = amounts[0].decode() if turn == 1 else f"R{turn - 1}"
    return f"R{turn} = Calculator({before} + {amounts[turn].decode()})"
