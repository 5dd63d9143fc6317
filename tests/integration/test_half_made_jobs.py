"""Jobs that are stored or removed in part are not there for any command, whatever of their rows there is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from sqlalchemy import update

from db.engine.connection import now
from db.models import JobRow
from db.queue.batch import Batch
from db.queue.commit import commit
from db.queue.job_changes import finish_if_idle, pause
from db.queue.removal import hide
from tests.claims import claim, finish, holder, new_job
from tests.integration.databases import sqlite_only


def finished(database, digest: str) -> str:
    job = new_job(database, tasks=3, digest=digest * 32)
    who = holder(database, job)
    items = claim(database, who, 2)
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=list(map(finish, items))))
    claim(database, who, 1)  # held by a worker that is alive
    return job


@pytest.fixture
def jobs(database, lumos):
    """A whole job, and two that a submit and a removal have left as they do when they die now."""
    whole, submitting, removing = (finished(database, digest) for digest in ("ab", "cd", "ef"))
    with database.writer.begin() as connection:
        connection.execute(
            update(JobRow).where(JobRow.id == submitting).values(state="submitting", not_before_at=now() + 50)
        )
    pause(database, removing)
    with database.writer.begin() as connection:
        hide(connection, removing)
    lumos.set(LUMOS_DATABASE_URL=database.url.replace("+psycopg", ""))
    return SimpleNamespace(whole=whole, half=(submitting, removing))


def test_listings_pass_them_over(jobs, lumos):
    for listing in (["jobs"], ["episodes"], ["episodes", "--where", "text~question"], ["workers"]):
        result = lumos(*listing, "--json")
        assert result.json
        assert listing == ["workers"] or jobs.whole in result.out
        assert not [job for job in jobs.half if job in result.out], listing


@sqlite_only
def test_commands_on_one_job_find_the_whole_one_only(jobs, lumos):
    for job in jobs.half:
        for command in ("job", "report", "pause", "resume", "cancel", "rm"):
            result = lumos(command, job, "--json")
            assert result.code == 2 and f"No job has an id that starts with '{job}'" in result.err, command
        result = lumos("show", f"{job}-0", "--json")
        assert result.code == 2 and "No job has an id" in result.err
    assert lumos("job", jobs.whole).code == lumos("show", f"{jobs.whole}-0").code == 0


def test_a_worker_that_settles_one_leaves_it_as_it_is(database, jobs):
    submitting, removing = jobs.half
    assert (finish_if_idle(database, submitting), finish_if_idle(database, removing)) == ("submitting", "removed")
