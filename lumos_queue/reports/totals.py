"""The cost of episodes, as it is in reports and on pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from db.kinds.totals import EpisodeTotals


def totals_as_json(totals: EpisodeTotals) -> dict[str, Any]:
    """Return the totals as they are in the JSON of a report or an episode."""
    return {"calls": totals.calls, "tokens": {"prompt": totals.prompt_tokens, "completion": totals.completion_tokens}}


def describe_totals(figures: Mapping[str, Any]) -> str:
    """Return the figures of `totals_as_json` as text."""
    tokens = figures["tokens"]
    calls = f"{figures['calls']:,} model call{'' if figures['calls'] == 1 else 's'}"
    return f"{calls}, {tokens['prompt']:,} tokens in, {tokens['completion']:,} out"
