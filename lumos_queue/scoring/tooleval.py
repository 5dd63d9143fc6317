"""Compute ToolEval's pass and win rates of tool agents from a judge's labels (spec/sum2act.md 6), without randomness.

A judge gives each run several votes. If a label is `unsure` in its table, or two runs are equally good, ToolEval's own
code flips a coin. This code counts 1/2 in these two cases, and for tied votes. A missing run is not left out: it fails
and loses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

PASS, HALF, FAIL = 1.0, 0.5, 0.0


class AnswerLabel(StrEnum):
    """A judge's label of an answer. The values are stored."""

    SOLVED = "solved"
    UNSURE = "unsure"
    UNSOLVED = "unsolved"


class TaskLabel(StrEnum):
    """A judge's label of a request and its functions. The values are stored."""

    SOLVABLE = "solvable"
    UNSURE = "unsure"
    UNSOLVABLE = "unsolvable"


class Preference(StrEnum):
    """The run that a judge prefers, of two in the order of the prompt. The values are stored."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"


#: ToolEval's table. A run without an answer may pass: where the request cannot be solved.
TABLE: Mapping[AnswerLabel, Mapping[TaskLabel, float]] = {
    AnswerLabel.SOLVED: {TaskLabel.SOLVABLE: PASS, TaskLabel.UNSURE: PASS, TaskLabel.UNSOLVABLE: PASS},
    AnswerLabel.UNSURE: {TaskLabel.SOLVABLE: HALF, TaskLabel.UNSURE: HALF, TaskLabel.UNSOLVABLE: PASS},
    AnswerLabel.UNSOLVED: {TaskLabel.SOLVABLE: FAIL, TaskLabel.UNSURE: HALF, TaskLabel.UNSOLVABLE: PASS},
}
_SOLVED = {AnswerLabel.SOLVED: 1.0, AnswerLabel.UNSURE: 0.5, AnswerLabel.UNSOLVED: 0.0}


@dataclass(frozen=True, slots=True)
class Vote:
    """A judgement of a run. `task` is None if the task has no label: the answer solves it, or the run has no Finish."""

    answer: AnswerLabel
    task: TaskLabel | None = None

    @property
    def worth(self) -> float:
        """The value of the vote: 1 for a pass, 1/2 for unsure, 0 for a failure."""
        if self.answer == AnswerLabel.SOLVED:
            return PASS
        return FAIL if self.task is None else TABLE[self.answer][self.task]


def majority(values: Sequence[float]) -> float:
    """Return 1 if the mean of the values, each from 0 to 1, is above 1/2, 0 if it is below, 1/2 for a tie."""
    twice, many = 2 * sum(values), len(values)
    return HALF if many and twice == many else float(twice > many)


def strict_pass(votes: Sequence[Vote]) -> float:
    """Return 1 if most votes say that the answer solves the request, otherwise 0; 1/2 for a tie."""
    return majority([float(vote.answer == AnswerLabel.SOLVED) for vote in votes])


def tooleval_pass(votes: Sequence[Vote]) -> float:
    """Return 1 if the votes, valued by ToolEval's table, have a mean above 1/2, otherwise 0; 1/2 for a tie."""
    return majority([vote.worth for vote in votes])


def solvable_pass(votes: Sequence[Vote]) -> float:
    """Return the score of SoPR (solvable pass rate): the mean of the votes on the answer; 0 without votes."""
    return fmean(_SOLVED[vote.answer] for vote in votes) if votes else FAIL


def settle_round(own_vote: Vote | None, opponent_vote: Vote | None) -> float | None:
    """Return the result of a round if the votes settle it, 1 for the own run or 0 for the other run; None if not.

    With None, a judge must compare the runs. A vote of None is a missing run, which loses; if both runs are missing,
    the result is 1/2.
    """
    if own_vote is None or opponent_vote is None:
        return HALF if own_vote is opponent_vote else float(own_vote is not None)
    return own_vote.worth if {own_vote.worth, opponent_vote.worth} == {PASS, FAIL} else None


def compare_round(own_first: Preference, other_first: Preference) -> float:
    """Return the result of a round from a judge's preferences in both orders of the runs: 1, 0, or 1/2 for a tie.

    If the judge prefers the same position in both orders, the result is a tie.
    """
    if (own_first, other_first) == (Preference.FIRST, Preference.SECOND):
        return PASS
    return FAIL if (own_first, other_first) == (Preference.SECOND, Preference.FIRST) else HALF
