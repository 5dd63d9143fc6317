"""The variant to which per-step storage is compared: an episode's steps reach the journal when the episode ends.

The product has no such option. Here the journal's `record` keeps the steps, and the end of a job's `run` hands them on:
the same rows go through the same code into the same group commits, only later.
"""

from __future__ import annotations

from db.journal.episode_journal import EpisodeJournal
from lumos_queue.jobs.evaluate import Evaluate


def keep_until_the_end() -> None:
    """Replace the methods of the journal and of the job in this process permanently."""
    record, run = EpisodeJournal.record, Evaluate.run
    steps_by_journal: dict[int, list] = {}

    def keep(self: EpisodeJournal, step) -> None:
        steps_by_journal.setdefault(id(self), []).append(step)

    async def run_and_record(self: Evaluate, work, journal, context):
        result = await run(self, work, journal, context)
        for step in steps_by_journal.pop(id(journal)):
            record(journal, step)
        return result

    EpisodeJournal.record, Evaluate.run = keep, run_and_record  # pyright: ignore[reportAttributeAccessIssue]
