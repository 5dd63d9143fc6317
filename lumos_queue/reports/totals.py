"""The cost of episodes, as it is in reports and on pages."""

from __future__ import annotations

from dataclasses import dataclass

from db.kinds.totals import EpisodeTotals


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


def describe_use(use: ModelUse) -> str:
    """Return calls and tokens as text."""
    calls = f"{use.calls:,} model call{'' if use.calls == 1 else 's'}"
    return f"{calls}, {use.tokens.prompt:,} tokens in, {use.tokens.completion:,} out"
