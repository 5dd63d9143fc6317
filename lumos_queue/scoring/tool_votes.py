"""A judge's labels and votes about runs of tool agents, and the scores of votes that no rule of ToolEval affects."""

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
#: The value of an answer's label in SoPR. ToolEval's win rate uses its order.
SOLVED = {AnswerLabel.SOLVED: 1.0, AnswerLabel.UNSURE: 0.5, AnswerLabel.UNSOLVED: 0.0}


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


def solvable_pass(votes: Sequence[Vote]) -> float:
    """Return the score of SoPR (solvable pass rate): the mean of the votes on the answer; 0 without votes."""
    return fmean(SOLVED[vote.answer] for vote in votes) if votes else FAIL
