"""Separate the calls and tokens that a job adopted from another job, so that no cost counts twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from db.adopt import find_adopted


def apart_from_adopted(connection: Connection, job: Any, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return `adopted`, the figures that a job (its row) adopted, and `calls` and `tokens` without these figures.

    Return {} if the job adopted no episode. `report` has the `calls` and `tokens` of all episodes.
    """
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
