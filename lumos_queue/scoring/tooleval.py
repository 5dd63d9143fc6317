"""Two rules by which ToolEval's pass and win rates of tool agents are computed from a judge's votes.

`tooleval` counts as the published code of ToolEval does. Where that code tosses a coin, the rule returns the exact
expectation over the coin's sides. `ours` has no coins: what is undecided counts 1/2, and the judge compares two runs in
both orders. Decision 0059 has the reasons. Both use the same stored votes. A missing run is not left out: it fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

from lumos_queue.scoring.coins import Count, count_coins
from lumos_queue.scoring.tool_verdicts import OURS, Round, Similarity, ToolVerdict
from lumos_queue.scoring.tool_votes import FAIL, HALF, PASS, SOLVED, Preference, Vote, majority


class Order(StrEnum):
    """The run that a question shows first, of the own run and the other run (ToolEval's reference)."""

    OWN_FIRST = "own_first"
    OTHER_FIRST = "other_first"


@dataclass(frozen=True, slots=True)
class Result:
    """The share of a comparison that is won, and the share that is tied, each from 0 to 1; the rest is lost."""

    won: float
    tied: float

    @property
    def win(self) -> float:
        """The share that is won, with ties as 1/2."""
        return self.won + self.tied / 2


class Rule(Protocol):
    """A way to count votes. Every method is a function of the votes alone."""

    @property
    def name(self) -> str:
        """Return the name under which reports show the rule."""
        ...

    def count_pass(self, votes: Sequence[Vote]) -> float:
        """Return the share of a run in the pass rate, from 0 to 1; 0 without votes."""
        ...

    def list_orders(self, verdict: ToolVerdict, own_vote: Vote, other_vote: Vote) -> Sequence[Order]:
        """Return the orders in which the judge must compare the runs for a round with these votes; () if in none."""
        ...

    def compare(self, verdict: ToolVerdict) -> Result | None:
        """Return the result of a comparison. None if it has no round, or if the stored votes do not determine it."""
        ...

    def lacks_votes(self, verdict: ToolVerdict) -> bool:
        """Return whether the result depends on votes for which the judge was never asked."""
        ...


class Ours:
    """The rule without coins."""

    name = OURS

    def count_pass(self, votes: Sequence[Vote]) -> float:
        """Return 1 if the votes, valued by ToolEval's table, have a mean above 1/2, otherwise 0; 1/2 for a tie."""
        return majority([vote.worth for vote in votes])

    def list_orders(self, verdict: ToolVerdict, own_vote: Vote, other_vote: Vote) -> Sequence[Order]:
        """Return both orders, unless the votes or equal answers settle the round."""
        is_settled = self.settle(verdict, own_vote, other_vote) is not None
        return () if is_settled else (Order.OWN_FIRST, Order.OTHER_FIRST)

    def settle(self, verdict: ToolVerdict, own_vote: Vote, other_vote: Vote) -> float | None:
        """Return the result of a round if no comparison is needed, 1 for the own run or 0 for the other; None if it is.

        A missing run loses. If both runs are missing or have the same answer, the result is 1/2.
        """
        own_run, opponent = verdict.verdict, verdict.opponent
        assert opponent is not None
        if own_run.is_missing or opponent.is_missing:
            return HALF if own_run.is_missing and opponent.is_missing else float(opponent.is_missing)
        if {own_vote.worth, other_vote.worth} == {PASS, FAIL}:
            return own_vote.worth
        return None if verdict.similarity == Similarity.NOTHING else HALF

    def compare_orders(self, own_first: Preference, other_first: Preference) -> float:
        """Return the result of a round from a judge's preferences in both orders of the runs: 1, 0, or 1/2 for a tie.

        If the judge prefers the same position in both orders, the result is a tie.
        """
        if (own_first, other_first) == (Preference.FIRST, Preference.SECOND):
            return PASS
        return FAIL if (own_first, other_first) == (Preference.SECOND, Preference.FIRST) else HALF

    def compare(self, verdict: ToolVerdict) -> Result | None:
        """Return whether most rounds are won, or half of them; None without a round."""
        wins = [round_.win for round_ in verdict.rounds if round_.win is not None]
        if verdict.opponent is None or not wins:
            return None
        value = majority(wins)
        return Result(float(value == PASS), float(value == HALF))

    def lacks_votes(self, verdict: ToolVerdict) -> bool:
        """Return False: the judge was always asked for this rule."""
        return False


class Point(StrEnum):
    """What a round gives by the rule `tooleval`."""

    WIN = "win"
    LOSS = "loss"
    COIN = "coin"
    UNKNOWN = "unknown"  #: the judge was not asked
    NONE = "none"  #: the judge's reply is missing, so the round is left out


class ToolEval:
    """The rule of ToolEval's published code, with the expectation over its coins."""

    name = "tooleval"

    def count_pass(self, votes: Sequence[Vote]) -> float:
        """Return the probability that at most as many votes fail as pass, where an unsure vote is a coin."""
        if not votes:
            return FAIL
        count = _count_votes(votes)
        return float(count.more + count.equal)

    def compute_label(self, votes: Sequence[Vote]) -> Fraction:
        """Return the probability that the label which ToolEval stores for a run is a pass: a tie is one more coin."""
        count = _count_votes(votes)
        return count.more + count.equal / 2

    def list_orders(self, verdict: ToolVerdict, own_vote: Vote, other_vote: Vote) -> Sequence[Order]:
        """Return the order with the reference first if some coins lead to a question, otherwise ()."""
        assert verdict.opponent is not None
        if verdict.verdict.is_missing or verdict.opponent.is_missing or not self._equal_labels(verdict):
            return ()
        is_settled = own_vote.answer != other_vote.answer or verdict.similarity == Similarity.ALL
        return () if is_settled else (Order.OTHER_FIRST,)

    def compare(self, verdict: ToolVerdict) -> Result | None:
        """Return the probabilities that the own run wins more rounds, or as many as the other run."""
        counts = self._count_rounds(verdict)
        if counts is None or counts[0] != counts[-1]:
            return None
        assert verdict.opponent is not None
        own_label, other_label = map(self.compute_label, (verdict.verdict.votes, verdict.opponent.votes))
        equal_labels = self._equal_labels(verdict)
        won = own_label * (1 - other_label) + equal_labels * counts[0].more
        return Result(float(won), float(equal_labels * counts[0].equal))

    def lacks_votes(self, verdict: ToolVerdict) -> bool:
        if verdict.opponent is None or self.name in verdict.rules:
            return False
        return self.compare(verdict) is None and bool(verdict.verdict.votes and verdict.opponent.votes)

    def _equal_labels(self, verdict: ToolVerdict) -> Fraction:
        """Return the probability that both runs have the same label."""
        assert verdict.opponent is not None
        own_label, other_label = map(self.compute_label, (verdict.verdict.votes, verdict.opponent.votes))
        return own_label * other_label + (1 - own_label) * (1 - other_label)

    def _count_rounds(self, verdict: ToolVerdict) -> tuple[Count, ...] | None:
        """Return who wins more rounds if the labels are equal: with all unknown rounds lost, and with all won.

        None if no round was judged. If both are the same, so is the count with any other result of these rounds.
        """
        own_run, opponent = verdict.verdict, verdict.opponent
        if opponent is None or not (own_run.votes and opponent.votes):
            return None
        if own_run.is_missing or opponent.is_missing:
            return (count_coins(int(opponent.is_missing), int(not opponent.is_missing), 0),)
        if not self._equal_labels(verdict):
            return (count_coins(0, 0, 0),)
        ballots = verdict.list_ballots()
        if ballots is None:
            return None
        points = Counter(self._settle(verdict, *ballot) for ballot in ballots)
        if not points.total() - points[Point.NONE]:
            return None
        wins, losses, unknown = points[Point.WIN], points[Point.LOSS], points[Point.UNKNOWN]
        return (
            count_coins(wins, losses + unknown, points[Point.COIN]),
            count_coins(wins + unknown, losses, points[Point.COIN]),
        )

    def _settle(self, verdict: ToolVerdict, own_vote: Vote, other_vote: Vote, round_: Round) -> Point:
        """Return what a round gives if both runs have the same label."""
        if own_vote.answer != other_vote.answer:
            return Point.WIN if SOLVED[own_vote.answer] > SOLVED[other_vote.answer] else Point.LOSS
        if verdict.similarity == Similarity.ALL:
            return Point.COIN
        match round_.reference_first:
            case Preference.FIRST:
                return Point.LOSS
            case Preference.SECOND:
                return Point.WIN
            case Preference.TIE:
                return Point.COIN
            case None:
                return Point.NONE if self.name in verdict.rules else Point.UNKNOWN


def _count_votes(votes: Sequence[Vote]) -> Count:
    """Return the probabilities that more votes pass than fail, and that as many do."""
    worths = [vote.worth for vote in votes]
    return count_coins(worths.count(PASS), worths.count(FAIL), worths.count(HALF))


OUR_RULE, TOOLEVAL_RULE = Ours(), ToolEval()
RULES: tuple[Rule, ...] = (TOOLEVAL_RULE, OUR_RULE)
