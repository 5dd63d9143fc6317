"""The states of jobs and items. Columns are text and hold the members' values."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """Where a job is between being submitted and being removed."""

    SUBMITTING = "submitting"  #: its items are being stored, or that was cut off; hidden from people and workers
    IMPORTING = "importing"  #: its episodes are being stored whole; nothing of it will run
    QUEUED = "queued"  #: may be worked on, and no slice has begun yet
    RUNNING = "running"  #: a slice has begun; items are owed, claimed or awaiting an answer
    PAUSED = "paused"  #: stopped until a person resumes it
    FAILED = "failed"  #: stopped by an error that trying again would meet again, until a person resumes it
    CANCELLING = "cancelling"  #: stopped, while items are still claimed or owed
    CANCELLED = "cancelled"  #: stopped, and no item is owed or claimed
    DONE = "done"  #: no item is owed, claimed or awaiting an answer
    REMOVING = "removing"  #: its rows are being deleted, or that was cut off; hidden
    REMOVED = "removed"  #: never stored: what is said of a job that has no row (any more)


class ItemState(StrEnum):
    """Where an item is between being owed and being done."""

    OWED = "owed"  #: to be worked on, once it is due
    CLAIMED = "claimed"  #: a worker session holds it
    AWAITING = "awaiting"  #: a person has to answer first (`lumos approve`); nobody holds it
    DONE = "done"  #: it has its accepted result
    CANCELLED = "cancelled"  #: its job was cancelled first
    QUARANTINED = "quarantined"  #: too many processes died while it was all they held; a person has to resume it


#: Jobs that may be worked on.
OPEN = (JobState.QUEUED, JobState.RUNNING)
#: Items that their job has to wait for before it is done.
UNFINISHED = (ItemState.OWED, ItemState.CLAIMED, ItemState.AWAITING)
#: Jobs that are stored in part only: people and workers do not see them.
HIDDEN = (JobState.SUBMITTING, JobState.REMOVING)
#: Jobs that a slice which works on them has to leave.
STOPPED = (
    JobState.PAUSED,
    JobState.FAILED,
    JobState.CANCELLING,
    JobState.CANCELLED,
    JobState.REMOVING,
    JobState.REMOVED,
)
