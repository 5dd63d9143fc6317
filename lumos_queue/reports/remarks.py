"""What a person should know about a conversion beside its numbers, one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.conversion.sources.registry import open_source
from lumos_queue.domains import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.records import MODULES

MANY = 0.05  #: share of the rows from which on it is said how a filter can be changed


def remarks(spec: Mapping[str, Any], judged: int, verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    """`judged`: rows with a judgement; `verdicts`: rows by filter and module, as the report has them."""
    return [*_overlong(spec, judged, verdicts), *_without_conversations(spec)]


def _overlong(spec: Mapping[str, Any], judged: int, verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    rows = max((one[module] for one in verdicts if one["name"] == "overlong" for module in MODULES), default=0)
    if not rows or rows < MANY * judged:
        return []
    return [
        f"{rows:,} of {judged:,} rows are overlong: a training conversation may have {spec['most_tokens']:,} tokens. "
        "Convert again with --longest to allow more."
    ]


def _without_conversations(spec: Mapping[str, Any]) -> list[str]:
    try:
        domain = DOMAINS.get(open_source(spec["source"]).domain)
    except SpecError:  # a module of one's own that is not here any more
        return []
    if domain is None or not domain.few_shot:
        return []
    return [
        f"Training conversations of the domain '{domain.name}' are not written yet, as they begin with demonstrations: "
        "iterative and one-pass builds leave all of these rows out."
    ]
