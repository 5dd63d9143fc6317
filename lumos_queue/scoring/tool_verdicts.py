"""All that a judge said of one task, as it is stored: an episode's answer in JSON. Scores are made again from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.scoring.tooleval import AnswerLabel, Preference, TaskLabel, Vote


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The votes on one run, in order."""

    ended: str  #: as JudgedRun.ended (prompts/judged_run.py)
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """Which run wins by one vote: 1 the own one, 0 the other, 1/2 neither.

    `preferences` are the judge's, with the own run first and with the other first; none where it was not asked.
    """

    win: float
    preferences: tuple[Preference, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolVerdict:
    """The votes on a run and, where it is compared, on the run it is compared with; a round for each vote."""

    own: RunVerdict
    other: RunVerdict | None = None
    rounds: tuple[Round, ...] = ()
    unreadable: int = 0  #: replies without one clear label, which count as unsure or as a tie
    missing: int = 0  #: replies that ended within their reasoning: their votes and rounds are left out

    def as_text(self) -> str:
        found: dict[str, Any] = {"run": _run_as_json(self.own)}
        if self.other is not None:
            found["against"] = _run_as_json(self.other)
            found["rounds"] = [{"win": one.win, "preferences": [*one.preferences]} for one in self.rounds]
        found["unreadable"] = self.unreadable
        if self.missing:
            found["missing"] = self.missing
        return json.dumps(found)

    @classmethod
    def from_text(cls, text: str) -> ToolVerdict:
        """Raises ValueError for a text that `as_text` does not write."""
        try:
            found = json.loads(text)
            other = _read_run(found["against"]) if "against" in found else None
            rounds = tuple(map(_read_round, found.get("rounds", ())))
            return cls(_read_run(found["run"]), other, rounds, int(found["unreadable"]), int(found.get("missing", 0)))
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a verdict of tool agents: {error!r}") from None


def _run_as_json(run: RunVerdict) -> dict[str, Any]:
    votes = [{"answer": one.answer} | ({"task": one.task} if one.task else {}) for one in run.votes]
    return {"ended": run.ended, "votes": votes}


def _read_run(found: Mapping[str, Any]) -> RunVerdict:
    votes: Sequence[Mapping[str, Any]] = found["votes"]
    read = (Vote(AnswerLabel(one["answer"]), TaskLabel(one["task"]) if "task" in one else None) for one in votes)
    return RunVerdict(str(found["ended"]), tuple(read))


def _read_round(found: Mapping[str, Any]) -> Round:
    return Round(float(found["win"]), tuple(map(Preference, found["preferences"])))
