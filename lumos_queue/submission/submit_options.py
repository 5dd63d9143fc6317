"""How a job is submitted: its name, its tags, its scheduling, and whether an equal stored job is used instead."""

from __future__ import annotations

from dataclasses import dataclass

from db.kinds.name_and_tags import UNNAMED, NameAndTags
from lumos_queue.jobs.scheduling import DEFAULT_SCHEDULING, Scheduling


@dataclass(frozen=True, slots=True)
class SubmitOptions:
    """The options of a submission. They change no result, and are not part of the job's digest."""

    name_and_tags: NameAndTags = UNNAMED
    scheduling: Scheduling = DEFAULT_SCHEDULING
    again: bool = False  #: whether a new job is made even if an equal job is stored


DEFAULT_SUBMIT_OPTIONS = SubmitOptions()
