"""Describe the episodes of a list as JSON."""

from __future__ import annotations

from typing import Any

from db.queries.trajectories import ListedEpisode
from lumos_queue.reports.trajectory import gold_text


def describe_episode(row: ListedEpisode) -> dict[str, Any]:
    """Return an episode in the form of `lumos episodes --json`."""
    names = ("score", "ending", "answer", "calls", "question", "benchmark", "formulation", "sample", "origin", "level")
    columns = {name: getattr(row, name) for name in names}
    return {"episode": f"{row.job}-{row.ordinal}", "gold": gold_text(row.gold) or None} | columns
