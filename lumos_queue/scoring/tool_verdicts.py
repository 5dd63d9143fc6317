"""A judge's verdicts about a task, stored as an episode's answer in JSON. Scores are computed from this answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lumos_queue.scoring.tool_votes import AnswerLabel, Preference, TaskLabel, Vote

MISSING = "missing"  #: RunVerdict.ended of a run without a result
OURS = "ours"  #: the rule for which every comparison was judged


class Similarity(StrEnum):
    """What two runs have in common. The values are stored."""

    NOTHING = "nothing"
    ANSWER = "answer"
    ALL = "all"  #: the answer and the calls


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The votes on a run, in order."""

    ended: str  #: as JudgedRun.ended (prompts/judged_run.py)
    votes: tuple[Vote, ...]

    @property
    def is_missing(self) -> bool:
        return self.ended == MISSING


@dataclass(frozen=True, slots=True)
class Round:
    """A vote on each of two runs, with the judge's preferences between them.

    `win` is the result by the rule `ours`: 1 if the own run wins, 0 if the other run wins, 1/2 for a tie, None if a
    reply for it is missing. `preferences` are the judge's with the own run first, and with the other run first; () if
    the judge was not asked for both.
    """

    win: float | None
    preferences: tuple[Preference, ...] = ()
    other_first: Preference | None = None  #: the preference with the other run first, if that is the only one
    votes: tuple[int, int] | None = None  #: positions of the votes on the own run and on the other run

    @property
    def reference_first(self) -> Preference | None:
        """The judge's preference with the other run first, as ToolEval asks; None if the judge was not asked."""
        return self.preferences[1] if self.preferences else self.other_first


@dataclass(frozen=True, slots=True)
class ToolVerdict:
    """The votes on a run and, in a comparison, on the other run, with a round for each vote."""

    verdict: RunVerdict
    opponent: RunVerdict | None = None
    rounds: tuple[Round, ...] = ()
    unreadable: int = 0  #: replies without one clear label, which count as unsure or as a tie
    missing: int = 0  #: replies that ended within their reasoning: their votes and rounds are left out
    rules: tuple[str, ...] = (OURS,)  #: names of the rules for which the judge was asked to compare the runs
    similarity: Similarity | None = None  #: None if it was not stored

    def list_ballots(self) -> list[tuple[Vote, Vote, Round]] | None:
        """Return the votes on the own and the other run in each round. None if it is unknown which votes are a round's.

        That is so for comparisons of formulation version 3 and earlier with missing replies.
        """
        if self.opponent is None:
            return []
        own_votes, other_votes, ballots = self.verdict.votes, self.opponent.votes, []
        for index, round_ in enumerate(self.rounds):
            if round_.votes is None and (self.missing or not index < len(own_votes) == len(other_votes)):
                return None
            own_index, other_index = round_.votes or (index, index)
            ballots.append((own_votes[own_index], other_votes[other_index], round_))
        return ballots

    def as_text(self) -> str:
        fields: dict[str, Any] = {"run": _run_as_json(self.verdict)}
        if self.opponent is not None:
            fields["against"] = _run_as_json(self.opponent)
            fields["rounds"] = [_round_as_json(round_) for round_ in self.rounds]
            if self.rules != (OURS,):
                fields["rules"] = [*self.rules]
            if self.similarity is not None:
                fields["similarity"] = self.similarity
        fields["unreadable"] = self.unreadable
        if self.missing:
            fields["missing"] = self.missing
        return json.dumps(fields)

    @classmethod
    def from_text(cls, text: str) -> ToolVerdict:
        """Read the text that `as_text` writes. Raises ValueError for any other text."""
        try:
            fields = json.loads(text)
            own = _read_run(fields["run"])
            opponent = _read_run(fields["against"]) if "against" in fields else None
            return cls(
                own,
                opponent,
                tuple(_read_round(round_, own, opponent) for round_ in fields.get("rounds", ())),
                int(fields["unreadable"]),
                int(fields.get("missing", 0)),
                tuple(map(str, fields.get("rules", (OURS,)))),
                Similarity(fields["similarity"]) if "similarity" in fields else None,
            )
        except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
            raise ValueError(f"not a verdict of tool agents: {error!r}") from None


def _run_as_json(run: RunVerdict) -> dict[str, Any]:
    votes = [{"answer": vote.answer} | ({"task": vote.task} if vote.task else {}) for vote in run.votes]
    return {"ended": run.ended, "votes": votes}


def _read_run(fields: Mapping[str, Any]) -> RunVerdict:
    votes: Sequence[Mapping[str, Any]] = fields["votes"]
    read = (Vote(AnswerLabel(vote["answer"]), TaskLabel(vote["task"]) if "task" in vote else None) for vote in votes)
    return RunVerdict(str(fields["ended"]), tuple(read))


def _round_as_json(round_: Round) -> dict[str, Any]:
    fields: dict[str, Any] = {"win": round_.win, "preferences": [*round_.preferences]}
    if round_.other_first is not None:
        fields["other_first"] = round_.other_first
    return fields | ({} if round_.votes is None else {"votes": [*round_.votes]})


def _read_round(fields: Mapping[str, Any], own: RunVerdict, opponent: RunVerdict | None) -> Round:
    win, preferences = fields["win"], tuple(map(Preference, fields["preferences"]))
    other_first = Preference(fields["other_first"]) if "other_first" in fields else None
    positions = None
    if "votes" in fields and opponent is not None:
        positions = int(fields["votes"][0]), int(fields["votes"][1])
        if positions[0] not in range(len(own.votes)) or positions[1] not in range(len(opponent.votes)):
            raise ValueError(f"not a verdict of tool agents: a round has the votes {positions}")
    return Round(None if win is None else float(win), preferences, other_first, positions)
