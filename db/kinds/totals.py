"""What the model calls of an episode cost: a value that sums of a job have, too."""

from __future__ import annotations

from typing import NamedTuple

from lumos_queue.records import Completion, FinishReason


class EpisodeTotals(NamedTuple):
    """The cost of an episode, or of several episodes. The names are those of the columns (TotalColumns)."""

    calls: int = 0  #: replies that a model was asked for; replies that the task contains do not count
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def with_reply(self, reply: Completion) -> EpisodeTotals:
        """Return the totals after one more reply."""
        return EpisodeTotals(
            self.calls + (reply.finish_reason != FinishReason.GIVEN),
            self.prompt_tokens + reply.prompt_tokens,
            self.completion_tokens + reply.completion_tokens,
        )

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def usd(self, prices: tuple[float, float]) -> float:
        """Return the price in dollars. `prices`: dollars for a million prompt tokens and completion tokens."""
        return (self.prompt_tokens * prices[0] + self.completion_tokens * prices[1]) / 1e6


NO_TOTALS = EpisodeTotals()
SUMMED = tuple(name for name in EpisodeTotals._fields if name != "calls")  #: figures that a completion has, too
