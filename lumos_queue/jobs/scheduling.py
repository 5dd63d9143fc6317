"""The priority and concurrency of a job. They change no result, and are not part of its digest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The scheduling of one job."""

    priority: int = 0  #: jobs with a higher priority run first
    concurrency: int = 0  #: episodes and requests to one endpoint in flight in one process; 0: LUMOS_CONCURRENCY


DEFAULT_SCHEDULING = Scheduling()
