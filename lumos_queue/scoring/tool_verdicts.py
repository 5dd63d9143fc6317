"""A judge's verdicts about a task, stored as an episode's answer in JSON. Scores are computed from this answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.scoring.tooleval import AnswerLabel, Preference, TaskLabel, Vote


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The votes on a run, in order."""

    ended: str  #: as JudgedRun.ended (prompts/judged_run.py)
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """The result of a vote. `win` is 1 if the own run wins, 0 if the other run wins, 1/2 for a tie.

    `preferences` are the judge's with the own run first, and with the other run first; () if the judge was not asked.
    """

    win: float
    preferences: tuple[Preference, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolVerdict:
    """The votes on a run and, in a comparison, on the other run, with a round for each vote."""

    verdict: RunVerdict
    opponent: RunVerdict | None = None
    rounds: tuple[Round, ...] = ()
    unreadable: int = 0  #: replies without one clear label, which count as unsure or as a tie
    missing: int = 0  #: replies that ended within their reasoning: their votes and rounds are left out

    def as_text(self) -> str:
        fields: dict[str, Any] = {"run": _run_as_json(self.verdict)}
        if self.opponent is not None:
            fields["against"] = _run_as_json(self.opponent)
            fields["rounds"] = [{"win": round_.win, "preferences": [*round_.preferences]} for round_ in self.rounds]
        fields["unreadable"] = self.unreadable
        if self.missing:
            fields["missing"] = self.missing
        return json.dumps(fields)

    @classmethod
    def from_text(cls, text: str) -> ToolVerdict:
        """Read the text that `as_text` writes. Raises ValueError for any other text."""
        try:
            fields = json.loads(text)
            opponent = _read_run(fields["against"]) if "against" in fields else None
            rounds = tuple(map(_read_round, fields.get("rounds", ())))
            return cls(
                _read_run(fields["run"]), opponent, rounds, int(fields["unreadable"]), int(fields.get("missing", 0))
            )
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a verdict of tool agents: {error!r}") from None


def _run_as_json(run: RunVerdict) -> dict[str, Any]:
    votes = [{"answer": vote.answer} | ({"task": vote.task} if vote.task else {}) for vote in run.votes]
    return {"ended": run.ended, "votes": votes}


def _read_run(fields: Mapping[str, Any]) -> RunVerdict:
    votes: Sequence[Mapping[str, Any]] = fields["votes"]
    read = (Vote(AnswerLabel(vote["answer"]), TaskLabel(vote["task"]) if "task" in vote else None) for vote in votes)
    return RunVerdict(str(fields["ended"]), tuple(read))


def _read_round(fields: Mapping[str, Any]) -> Round:
    return Round(float(fields["win"]), tuple(map(Preference, fields["preferences"])))
