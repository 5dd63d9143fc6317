"""What a job has adopted from another one, apart from what it made itself: nothing is counted twice as spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from db.adopt import find_adopted


def apart_from_adopted(connection: Connection, job: Any, report: Mapping[str, Any]) -> dict[str, Any]:
    """`adopted` of a job's row with its `calls` and `tokens`, and those of the report without them; empty if none."""
    if not job.parent:
        return {}
    adoption = find_adopted(connection, job.id)
    if not adoption.episodes:
        return {}
    tokens = {"prompt": adoption.prompt_tokens, "completion": adoption.completion_tokens}
    return {
        "adopted": {
            "episodes": adoption.episodes,
            "of": job.items,
            "from": job.parent,
            "calls": adoption.calls,
            "tokens": tokens,
        },
        "calls": report["calls"] - adoption.calls,
        "tokens": {name: report["tokens"][name] - count for name, count in tokens.items()},
    }
