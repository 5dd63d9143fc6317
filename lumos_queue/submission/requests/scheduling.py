"""The scheduling of a job, which every command that submits a job takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lumos_queue.submission.requests.option import MAX_INTEGER, Option


@dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """The options of a job's scheduling, unchecked."""

    priority: Annotated[int, Option("Jobs with a higher priority go first.", min=-MAX_INTEGER, max=MAX_INTEGER)] = 0
    concurrency: Annotated[
        int,
        Option(
            "At most N requests in flight at one endpoint, from one worker process; 0: LUMOS_CONCURRENCY. A cap over "
            "all processes is set with: lumos endpoints URL --cap N",
            min=0,
            max=MAX_INTEGER,
            metavar="N",
        ),
    ] = 0
