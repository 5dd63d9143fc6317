"""When the items of a job run, and how many at once. It changes no result, and is no part of a job's digest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scheduling:
    """Of one job."""

    priority: int = 0  #: jobs with a higher priority go first
    concurrency: int = 0  #: episodes and requests to one endpoint in flight in one process; 0: LUMOS_CONCURRENCY


DEFAULT_SCHEDULING = Scheduling()
