"""Describe the episodes of a list as JSON."""

from __future__ import annotations

from typing import Any

from lumos_queue.reports.trajectory import gold_text


def describe_episode(row: Any) -> dict[str, Any]:
    """Return a row of db.queries.trajectories.find_episodes in the form of `lumos episodes --json`."""
    names = ("score", "ending", "answer", "calls", "question", "benchmark", "formulation", "sample", "origin", "level")
    columns = {name: getattr(row, name) for name in names}
    return {"episode": f"{row.job}-{row.ordinal}", "gold": gold_text(row.gold) or None} | columns
