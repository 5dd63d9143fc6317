"""How a page calls jobs: by their ids, and by what tells them from each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection


def label_jobs(connection: Connection, jobs: Sequence[Any]) -> list[str]:
    """A label for each job's row, at most some thirty characters where names allow it: `k3f9a2cd iterative`."""
    return [f"{job.id} {getattr(job, 'name', '') or job.formulation or job.kind}".rstrip() for job in jobs]
