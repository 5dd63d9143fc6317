"""Work that a page starts: its places, its limit of time, and its end with the page's connection."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from fastapi import Request

from db.queries.filters import parse_where
from db.review.audits import sample_audit
from lumos_queue.actions.code.interface import CodeRunner
from lumos_queue.errors import SpecError
from lumos_queue.review.corrections import annotation_text
from lumos_queue.scoring.sampling import AuditKind
from lumos_queue.web.access.users import Role
from lumos_queue.web.errors import Busy, ClientGone
from lumos_queue.web.page_work import MAX_RUNNING, Budget, PageWork
from lumos_queue.web.routes.corrections import MAX_ACTIONS
from tests.explorers import RoleLogin, serve_explorer
from tests.scored_jobs import create_scored_job
from tests.web.conversions import convert_rows

BOUND = 60  #: seconds
PROGRAM = "def f(): x = 0; [0 for i in range(10**9) if i % 7 == 9]; return 1"  #: takes minutes


class Connection:
    """The connection of a page, which a test closes."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.closed.wait()
        return {"type": "http.disconnect"}


async def start(work: PageWork, person: str, step: Any) -> tuple[Connection, asyncio.Task[Any]]:
    connection = Connection()
    request = cast(Request, connection)
    task = asyncio.create_task(work.run(request, person, lambda budget: budget.run(step())))
    await asyncio.sleep(0)
    return connection, task


@pytest.fixture
def work() -> Iterator[PageWork]:
    page_work = PageWork()
    yield page_work
    page_work.stop()


def test_a_person_has_one_place_and_all_people_have_a_few(work):
    async def check() -> list[Any]:
        begun = [await start(work, f"person {number}", lambda: asyncio.sleep(1e9)) for number in range(MAX_RUNNING)]
        for person in ("person 0", "a third person"):
            with pytest.raises(Busy) as refusal:
                await work.run(cast(Request, Connection()), person, lambda budget: None)
            assert refusal.value.seconds > 0
        for connection, _ in begun:
            connection.closed.set()
        results = await asyncio.gather(*(task for _, task in begun), return_exceptions=True)
        await wait_for_place(work, "person 0")
        return results

    assert [type(result) for result in asyncio.run(check())] == [ClientGone] * MAX_RUNNING


async def wait_for_place(work: PageWork, person: str) -> None:
    """Wait until the work of a closed page has ended, and its place is free."""
    async with asyncio.timeout(BOUND):
        while True:
            try:
                assert await work.run(cast(Request, Connection()), person, lambda budget: "done") == "done"
                return
            except Busy:
                await asyncio.sleep(0.01)


def test_work_is_cancelled_with_its_connection(work):
    cancelled = threading.Event()

    async def wait_and_clean_up() -> None:
        try:
            await asyncio.sleep(1e9)
        finally:
            cancelled.set()

    async def check() -> None:
        connection, task = await start(work, "anna", wait_and_clean_up)
        await asyncio.sleep(0.1)
        connection.closed.set()
        with pytest.raises(ClientGone):
            await task

    asyncio.run(check())
    assert cancelled.wait(BOUND)


def test_work_that_was_stopped_before_it_began_does_nothing():
    budget, ran = Budget(BOUND), []
    budget.stop()

    async def note() -> None:
        ran.append(1)

    with pytest.raises(ClientGone):
        budget.run(note())
    assert not ran


def test_work_that_takes_too_long_is_refused_in_one_line():
    with pytest.raises(SpecError, match=r"take longer than 0\.05 s"):
        Budget(0.05).run(asyncio.sleep(1e9))


def test_the_error_of_work_is_the_error_of_the_page(work):
    def fail(budget: Budget) -> None:
        raise SpecError("wrong")

    async def check() -> None:
        with pytest.raises(SpecError, match="wrong"):
            await work.run(cast(Request, Connection()), "anna", fail)

    asyncio.run(check())


@pytest.mark.usefixtures("own_helper_processes")
def test_a_closed_sandbox_kills_a_child_that_still_works():
    runner = CodeRunner(seconds=10_000)

    async def check() -> None:
        task = asyncio.create_task(runner.run(PROGRAM, {}))
        await wait_for_children(1)
        task.cancel()
        async with asyncio.timeout(BOUND):
            await runner.close()

    before = children()
    asyncio.run(check())
    assert children() == before


async def wait_for_children(count: int) -> None:
    before = children()
    async with asyncio.timeout(BOUND):
        while len(children() - before) < count:
            await asyncio.sleep(0.02)


def children() -> set[tuple[int, str]]:
    """Return the ids and command lines of the processes that this process has started and that run."""
    processes = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "status").read_text()
            except OSError:
                continue
            if f"\nPPid:\t{os.getpid()}\n" in status and "\nState:\tZ" not in status:
                command = (entry / "cmdline").read_text().replace("\0", " ")
                processes.add((int(entry.name), command))
    return processes


@pytest.fixture
def converted(database, tmp_path) -> Iterator[tuple[Any, str]]:
    """An explorer with a server, and an episode that can be corrected."""
    opened, job = convert_rows(tmp_path, 1, url=database.url)
    opened.close()
    with serve_explorer(database, RoleLogin({"anna": Role.ANNOTATOR}), home=tmp_path) as explorer:
        yield explorer, f"{job}-0"


def annotation(actions: int) -> str:
    lines = [f"Action 1-{number}: R{number} = Code({PROGRAM})" for number in range(1, actions + 1)]
    return "\n".join(["Subgoal 1: Run it.", *lines])


@pytest.mark.parametrize("path", ["correct/preview", "correct"])
def test_a_page_runs_a_limited_number_of_actions(converted, database, path):
    explorer, name = converted
    answer = explorer.client("anna").submit(f"/episodes/{name}/{path}", {"text": annotation(MAX_ACTIONS + 1)})
    assert answer.status_code == 400 and f"has {MAX_ACTIONS + 1} actions" in answer.text
    assert annotation_text(database, name)


@pytest.mark.usefixtures("own_helper_processes")
@pytest.mark.parametrize("path", ["correct/preview", "correct"])
def test_a_closed_page_leaves_no_process(converted, path):
    explorer, name = converted
    client = explorer.client("anna")
    data, before = {"token": client.token(), "text": annotation(20)}, children()
    with pytest.raises(Exception, match="timed out"):
        client.post(f"/episodes/{name}/{path}", data=data, timeout=3)
    end = time.monotonic() + BOUND
    while (answer := client.submit(f"/episodes/{name}/{path}", {"text": ""})).status_code == 503:
        assert "Work that you started is still running" in answer.text and time.monotonic() < end
        time.sleep(0.05)
    assert answer.status_code == 400 and "The annotation is empty" in answer.text
    assert not children() - before


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/annotate/new", {"data": {"name": "second", "kind": "runs", "size": "1"}}),
        ("/annotate/first/labels", {"files": {"file": ("labels.jsonl", b"{}")}}),
    ],
)
def test_a_new_audit_and_a_file_of_labels_wait_for_earlier_work_of_the_person(database, path, form):
    job = create_scored_job(database, [[1], [0]])
    sample_audit(database, "first", parse_where(f"job={job}"), 2, 0, AuditKind.RUNS)
    with serve_explorer(database, RoleLogin({"otto": Role.OPERATOR})) as explorer:
        client, work = explorer.client("otto"), explorer.site.page_work
        started, end = threading.Event(), threading.Event()
        earlier_work = threading.Thread(target=lambda: asyncio.run(occupy(work, "otto", started, end)))
        earlier_work.start()
        try:
            assert started.wait(BOUND)
            answer = client.submit(path, **form)
        finally:
            end.set()
            earlier_work.join()
    assert answer.status_code == 503 and "Work that you started is still running" in answer.text


async def occupy(work: PageWork, person: str, started: threading.Event, end: threading.Event) -> None:
    def wait(budget: Budget) -> None:
        started.set()
        end.wait(BOUND)

    await work.run(cast(Request, Connection()), person, wait)
