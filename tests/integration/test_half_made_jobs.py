"""Jobs that are stored or removed in part are not there for any command, whatever of their rows there is."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from sqlalchemy import update

from db.commit import Batch, commit
from db.jobs import finish_if_idle, pause
from db.models import JobRow
from db.removal import hide
from lumos_queue.cli.main import main
from tests.claims import claim, finish, holder, new_job


def finished(database, digest: str) -> str:
    job = new_job(database, tasks=3, digest=digest * 32)
    who = holder(database, job)
    items = claim(database, who, 2)
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=list(map(finish, items))))
    claim(database, who, 1)  # held by a worker that is alive
    return job


@pytest.fixture
def jobs(database, monkeypatch):
    """A whole job, and two that a submit and a removal have left as they do when they die now."""
    whole, submitting, removing = (finished(database, digest) for digest in ("ab", "cd", "ef"))
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == submitting).values(state="submitting", not_before_at=9e9))
    pause(database, removing)
    with database.writer.begin() as connection:
        hide(connection, removing)
    monkeypatch.setenv("LUMOS_DATABASE_URL", database.url.replace("+psycopg", ""))
    return SimpleNamespace(whole=whole, half=(submitting, removing))


def lumos(capsys, *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([*arguments, "--json"])
    return code, *capsys.readouterr()


@pytest.mark.parametrize("listing", [("jobs",), ("episodes",), ("episodes", "--where", "text~question"), ("workers",)])
def test_listings_pass_them_over(jobs, capsys, listing):
    code, out, err = lumos(capsys, *listing)
    assert code == 0 and json.loads(out), err
    assert listing == ("workers",) or jobs.whole in out
    assert not [one for one in jobs.half if one in out]


@pytest.mark.parametrize("command", ["job", "report", "pause", "resume", "cancel", "rm"])
def test_commands_on_one_job_find_the_whole_one_only(jobs, capsys, command):
    for one in jobs.half:
        code, _, err = lumos(capsys, command, one)
        assert code == 2 and f"No job has an id that starts with '{one}'" in err
    if command == "job":
        assert lumos(capsys, command, jobs.whole)[0] == 0


def test_an_episode_of_theirs_is_not_shown(jobs, capsys):
    assert lumos(capsys, "show", f"{jobs.whole}-0")[0] == 0
    for one in jobs.half:
        code, _, err = lumos(capsys, "show", f"{one}-0")
        assert code == 2 and "No job has an id" in err


def test_a_worker_that_settles_one_leaves_it_as_it_is(database, jobs):
    submitting, removing = jobs.half
    assert (finish_if_idle(database, submitting), finish_if_idle(database, removing)) == ("submitting", "removed")
