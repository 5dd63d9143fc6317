"""The priority and the concurrency of a job, which change no result and are not part of the job's digest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The scheduling of a job."""

    priority: int = 0  #: jobs with a higher priority run first
    concurrency: int = 0  #: episodes and requests to one endpoint in flight in one process; 0: LUMOS_CONCURRENCY


DEFAULT_SCHEDULING = Scheduling()
