"""The cost of episodes, as it is in reports and on pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from db.kinds.totals import EpisodeTotals
from lumos_queue.reports.json_values import as_json


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of prompts and of replies."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Model calls and their tokens."""

    calls: int
    tokens: Tokens

    def without(self, other: ModelUse) -> ModelUse:
        """Return this use without the part `other`."""
        tokens = Tokens(self.tokens.prompt - other.tokens.prompt, self.tokens.completion - other.tokens.completion)
        return ModelUse(self.calls - other.calls, tokens)


def measure_use(totals: EpisodeTotals) -> ModelUse:
    """Return the totals as they are in a report."""
    return ModelUse(totals.calls, Tokens(totals.prompt_tokens, totals.completion_tokens))


def totals_as_json(totals: EpisodeTotals) -> dict[str, Any]:
    """Return the totals as they are in the JSON of an episode."""
    return as_json(measure_use(totals))


def describe_totals(figures: Mapping[str, Any]) -> str:
    """Return the figures of `totals_as_json` as text."""
    tokens = figures["tokens"]
    calls = f"{figures['calls']:,} model call{'' if figures['calls'] == 1 else 's'}"
    return f"{calls}, {tokens['prompt']:,} tokens in, {tokens['completion']:,} out"
