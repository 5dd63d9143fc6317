"""Sums of a database of every earlier revision are what its rows add up to, once it is migrated."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select, text

from db.engine.migrate import SCRIPTS, current, downgrade, head, upgrade
from db.journal.step_records import load_steps
from db.kinds.totals import NO_TOTALS
from db.models import EpisodeRow, ItemSum
from db.models.totals import read_totals
from db.queue.recount import recount
from lumos_queue.records import Completion
from tests.integration.stored_database import bring_up_to_date, open_old, read

MADE = Path(__file__).with_name("before_0006.jsonl.gz")  #: jobs in all states, made at revision 0005
REVISIONS = sorted(file.name[:4] for file in (SCRIPTS / "versions").glob("[0-9]*.py"))
EARLIER = REVISIONS[:-1]


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The old jobs in the present tables."""
    opened = open_old(request, tmp_path, "0005", read(MADE))
    with opened.writer.begin() as connection:  # no figure of a call is 0 everywhere
        connection.execute(text("UPDATE completion SET retries = 1 + position, replaced = 2 + position"))
    bring_up_to_date(opened)
    yield opened
    opened.close()


def check_sums(database) -> None:
    """Compare the job's sums with their episodes, and the episodes' totals with their model calls."""
    differences = [str(difference) for _, job_differences in recount(database) for difference in job_differences]
    assert differences == []
    with database.engine.connect() as connection:
        episodes = connection.execute(select(EpisodeRow.__table__).where(EpisodeRow.ending != "")).all()
        steps = load_steps(connection, {episode.id: episode.attempt for episode in episodes})
        for episode in episodes:
            totals = NO_TOTALS
            for step in steps[episode.id]:
                if isinstance(step.result, Completion):
                    totals = totals.with_reply(step.result)
            assert read_totals(episode) == totals, (current(database), episode.id)
        assert len(episodes) == 24 and sum(read_totals(episode).calls for episode in episodes) > 60
        summed = connection.execute(select(ItemSum.calls).where(ItemSum.ending != "")).scalars().all()
    assert sum(summed) == sum(read_totals(episode).calls for episode in episodes)


def test_the_sums_of_every_earlier_revision_are_right_once_it_is_migrated(database):
    check_sums(database)
    for revision in reversed(EARLIER):
        downgrade(database, revision)
        assert current(database) == revision
        with database.engine.connect() as connection:
            assert connection.execute(text("SELECT count(*) FROM episode WHERE ending <> ''")).scalar() == 24
        upgrade(database)
        assert current(database) == head()
        check_sums(database)
