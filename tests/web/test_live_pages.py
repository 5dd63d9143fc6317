"""Live pages: places of a person, jobs that cannot be read, errors of the database, and rights that end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from db.queue.job_changes import pause
from lumos_queue.errors import PoolTimeout
from lumos_queue.live.watched_jobs import WatchedJob, WatchedJobs
from lumos_queue.settings import Settings
from lumos_queue.web.access.users import Role
from lumos_queue.web.errors import Busy
from lumos_queue.web.live import LIVE, MAX_PAGES, UNREADABLE, LiveJobs, Parts
from tests.explorers import RoleLogin, serve_explorer
from tests.scored_jobs import create_scored_job

BOUND = 60  #: seconds for an event


@pytest.fixture
def job(database) -> str:
    return create_scored_job(database, [[1], [0]], pending=1)


@pytest.fixture
def live(database, tmp_path) -> Iterator[LiveJobs]:
    jobs = LiveJobs(database, Settings(home=tmp_path, database_url=database.url))
    yield jobs
    jobs.stop()


def show_state(job: WatchedJob, watch: WatchedJobs) -> Parts:
    return {LIVE: f"{job.id} {job.state} {watch.silence}"}


async def receive(live: LiveJobs, job: str, show: Callable[..., Parts] = show_state, person: str = "rita") -> Any:
    """Return the first parts of a live page, and whether they are the last."""
    async for parts in live.follow(job, person, show):
        return parts
    return None


def run(coroutine: Any) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(BOUND):
            return await coroutine

    return asyncio.run(bounded())


def test_a_person_with_all_places_takes_none_of_another_person(live, job):
    async def open_all() -> list[Any]:
        pages = [live.follow(job, "rita", show_state) for _ in range(MAX_PAGES)]
        for page in pages:
            await anext(page)
        with pytest.raises(Busy):
            live.require_place("rita")
        assert await receive(live, job) is None  # a page that was opened at the same moment ends without an error
        live.require_place("otto")
        texts = await receive(live, job, person="otto")
        for page in pages:
            await page.aclose()
        live.require_place("rita")
        return texts

    assert run(open_all())[0][LIVE].startswith(job)


@pytest.mark.parametrize("error", [ValueError("damaged"), KeyError("spec"), RecursionError()])
def test_a_job_that_cannot_be_read_ends_its_page_and_no_other_page(live, job, database, monkeypatch, error):
    damaged_job = create_scored_job(database, [[1]], pending=1, digest="cd" * 32)
    read_job = WatchedJobs._read_job

    def read(watch: WatchedJobs, connection: Any, watched_job: WatchedJob, moment: float) -> None:
        if watched_job.id == damaged_job:
            raise error
        read_job(watch, connection, watched_job, moment)

    monkeypatch.setattr(WatchedJobs, "_read_job", read)

    async def open_both() -> tuple[Any, Any]:
        return await asyncio.gather(receive(live, damaged_job), receive(live, job))

    damaged, good = run(open_both())
    assert damaged == (UNREADABLE, True) and good[0][LIVE].startswith(job) and not good[1]


def test_a_page_that_cannot_be_shown_ends_alone(live, job):
    def fail(*_: Any) -> Parts:
        raise TypeError("cannot be shown")

    async def open_both() -> tuple[Any, Any]:
        return await asyncio.gather(receive(live, job, fail), receive(live, job))

    assert run(open_both())[0] == (UNREADABLE, True)
    assert run(receive(live, job))[0][LIVE].startswith(job)


def test_a_busy_pool_is_shown_and_the_pages_continue(live, job, monkeypatch):
    read, failures = WatchedJobs.read, iter([PoolTimeout("QueuePool limit reached")])
    choose, faults = WatchedJobs.choose, iter([RuntimeError("a fault of ours")])

    def fail_first(watch: WatchedJobs, connection: Any) -> None:
        if error := next(failures, None):
            raise error
        read(watch, connection)

    def choose_after_fault(watch: WatchedJobs, jobs: Any) -> None:
        if fault := next(faults, None):
            raise fault
        choose(watch, jobs)

    monkeypatch.setattr(WatchedJobs, "read", fail_first)
    monkeypatch.setattr(WatchedJobs, "choose", choose_after_fault)

    async def texts() -> list[str]:
        shown = []
        async for parts, _ in live.follow(job, "rita", show_state):
            text = parts[LIVE]
            shown.append(text)
            if text.endswith("queued ") or text.endswith("running "):
                return shown
        return shown

    shown = run(texts())
    assert "QueuePool limit reached" in shown[0] and shown[-1].startswith(job)


@contextmanager
def served(database: Any) -> Iterator[tuple[Any, dict[str, Role]]]:
    people = {"rita": Role.READER, "otto": Role.OPERATOR}
    with serve_explorer(database, RoleLogin(people)) as explorer:
        yield explorer, people


@pytest.mark.parametrize("end", ["removed", "logged out"])
def test_a_person_without_access_receives_nothing_more(database, job, end):
    with served(database) as (explorer, people):
        client, second = explorer.client("rita"), explorer.visitor()
        client.token()
        second.cookies = client.cookies
        with client.stream("GET", f"/jobs/{job}/live") as answer:
            lines = answer.iter_lines()
            assert "event: live" in lines
            if end == "removed":
                del people["rita"]
            else:
                second.submit("/logout")
            pause(database, job)
            assert not any(line.startswith("event:") for line in lines)  # the stream ends


def test_a_page_too_many_is_refused_before_its_answer_begins(database, job, monkeypatch):
    monkeypatch.setattr("lumos_queue.web.live.MAX_PAGES", 1)
    with served(database) as (explorer, _):
        client, second = explorer.client("rita"), explorer.client("rita")
        with client.stream("GET", f"/jobs/{job}/live") as answer:
            lines = answer.iter_lines()  # a generator that is dropped would close the page
            assert "event: live" in lines
            refused = second.get(f"/jobs/{job}/live")
            assert refused.status_code == 503 and "live pages open" in refused.text
