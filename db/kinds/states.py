"""The states of jobs and items. Columns are text and hold the members' values."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """The states of a job, from its submission to its removal."""

    SUBMITTING = (
        "submitting"  #: its items are being stored, or storing them was interrupted; hidden from people and workers
    )
    IMPORTING = "importing"  #: its episodes are being stored whole; none of them will run
    QUEUED = "queued"  #: may be worked on, and no slice has begun yet
    RUNNING = "running"  #: a slice has begun; items are pending, claimed or awaiting an answer
    PAUSED = "paused"  #: stopped until a person resumes it
    FAILED = "failed"  #: stopped by an error that trying again would meet again, until a person resumes it
    CANCELLING = "cancelling"  #: stopped, while items are still claimed or pending
    CANCELLED = "cancelled"  #: stopped, and no item is pending or claimed
    DONE = "done"  #: no item is pending, claimed or awaiting an answer
    REMOVING = "removing"  #: its rows are being deleted, or deleting them was interrupted; hidden
    REMOVED = "removed"  #: never stored: the reported state of a job without a row


class ItemState(StrEnum):
    """The states of an item, from pending to done."""

    OWED = "owed"  #: pending: to be worked on, once it is due
    CLAIMED = "claimed"  #: a worker session holds it
    AWAITING = "awaiting"  #: a person has to answer first (`lumos approve`); nobody holds it
    DONE = "done"  #: it has its accepted result
    CANCELLED = "cancelled"  #: its job was cancelled first
    QUARANTINED = (
        "quarantined"  #: too many processes died while this was the only item they held; a person has to resume it
    )


#: Jobs that may be worked on.
OPEN = (JobState.QUEUED, JobState.RUNNING)
#: States of items that must end before their job is done.
UNFINISHED = (ItemState.OWED, ItemState.CLAIMED, ItemState.AWAITING)
#: Jobs that are only partly stored: people and workers do not see them.
HIDDEN = (JobState.SUBMITTING, JobState.REMOVING)
#: States of a job in which a slice has to stop working on it.
STOPPED = (
    JobState.PAUSED,
    JobState.FAILED,
    JobState.CANCELLING,
    JobState.CANCELLED,
    JobState.REMOVING,
    JobState.REMOVED,
)
