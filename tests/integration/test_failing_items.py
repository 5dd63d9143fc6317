"""Items that fail and are tried again: each place where people look at their job gives the reason."""

from __future__ import annotations

import io
import json
import re
import sys
from contextlib import contextmanager

import pytest
from rich.console import Console
from sqlalchemy import update

from db.engine.lease import Lease
from db.models import Item, JobRow
from db.queries.failure_groups import MAX_GROUPS, failure_groups
from db.queries.jobs import get_job
from db.queue.approval_waits import describe_awaiting
from db.queue.batch import Batch
from db.queue.claims import ClaimRequest
from db.queue.commit import commit
from db.queue.fence import end_session, start_session
from db.queue.job_changes import cancel, pause
from db.queue.schedule import await_job, back_off
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.cli import output
from lumos_queue.cli.live import Progress
from lumos_queue.cli.watch_result import format_watched
from lumos_queue.live.watched_jobs import WatchedJobs
from lumos_queue.reports.real_state import RealState, real_states
from lumos_queue.reports.retry_reasons import RetryReason, describe_retry_reason, read_retry_reason
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows
from lumos_queue.util.plugins import entry_points_of
from tests.claims import claim, fail, finish, holder, new_job
from tests.fake_endpoint import FakeEndpoint
from tests.integration.test_failing_rows import failing as failing_replies
from tests.integration.test_failing_rows import replying
from tests.integration.test_statuses import Run, known
from tests.plugin_packages import write_distribution
from tests.services import wait_until

HOSTILE = "\x1b[2J[red]boom[/red] \u202e <script>\nsecond line " + "x" * 10_000
MEMORY = "http://gpu-1:8080 answered 500: out of memory."


def failures(database, *jobs: str) -> dict[str, RetryReason]:
    with database.engine.connect() as connection:
        return read_retry_reason(connection, jobs)


def standing(database, job: str):
    with database.engine.connect() as connection:
        return real_states(connection, [get_job(connection, job)], Lease(15.0))[job]


def waits(database, job: str) -> list[str]:
    watched = WatchedJobs(Settings(), [job])
    with database.engine.connect() as connection:
        watched.read(connection)
    return watched.jobs[0].waits


def failed_job(database, *groups: tuple[int, str], tasks: int = 8, **options) -> tuple[str, object]:
    """A job with so many items that failed for each reason, and the worker that held them and is idle."""
    job = new_job(database, tasks=tasks, **options)
    who = holder(database, job)
    for items, problem in groups:
        fail(database, who, claim(database, who, items), problem)
    return job, who


def test_the_most_frequent_reason_is_counted_and_numbers_make_no_other_reason(database):
    groups = [(1, "request 17 failed: quota"), (2, "a timeout"), (1, "request 18.5 failed: quota"), (1, "request 3 ")]
    job, _ = failed_job(database, *groups, (1, "request 19 failed: quota"))
    other, _ = failed_job(database, (1, HOSTILE), digest="cd" * 32)
    by_job = failures(database, job, other, new_job(database, digest="ef" * 32))
    assert by_job.keys() == {job, other}
    failing = by_job[job]
    assert (failing.items, failing.other_failures, failing.running) == (3, 3, 0) and re.fullmatch(
        r"request [\d.]+ failed: quota", failing.reason
    )
    assert 30 < failing.seconds <= 40
    text = by_job[other].reason
    assert len(text) <= 240 and "boom" in text and not {"\x1b", "\u202e", "\n"} & set(text)
    assert failures(database) == {}


def test_only_items_that_are_tried_again_are_counted(database):
    job, who = failed_job(database, (4, MEMORY))
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.job == job).values(not_before_at=0.0))
    held = claim(database, who, 8)
    ended = [item for item in held if item.ordinal == 0]
    commit(database, who, Batch({ended[0].id: ended[0].claim}, finished=[finish(ended[0])]), ClaimRequest(0))
    with database.writer.begin() as connection:
        lost = update(Item).where(Item.job == job, Item.ordinal == 1)
        connection.execute(lost.values(state="quarantined", session=None))
    failing = failures(database, job)[job]
    assert (failing.items, failing.running, failing.seconds) == (2, 2, None)
    cancel(database, job)
    commit(database, who, Batch({}), ClaimRequest(0))
    end_session(database, who.session)
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.job == job).values(state="cancelled"))
    assert failures(database, job) == {}


def test_very_many_reasons_are_counted_and_not_all_read(database):
    names = [chr(97 + number // 26) + chr(97 + number % 26) for number in range(60)]
    job, _ = failed_job(database, *((1, name) for name in names), (2, "quota"), tasks=62)
    failing = failures(database, job)[job]
    assert (failing.reason, failing.items, failing.other_failures) == ("quota", 2, 60)
    with database.engine.connect() as connection:
        assert len(failure_groups(connection, [job], 100)) == MAX_GROUPS


def test_the_line_has_the_count_the_reason_and_when(database):
    assert describe_retry_reason(RetryReason(MEMORY, 3, 0, 0, 40.0), "next try in 40 s") == (
        "3 items failed and are tried again: http://gpu-1:8080 answered 500: out of memory (next try in 40 s)"
    )
    assert describe_retry_reason(RetryReason("quota", 1, 2_000, 0, None)) == (
        "1 item failed and is tried again: quota; 2,000 more failed for other reasons"
    )


def test_the_list_gives_the_reason_where_nothing_else_stands(database):
    job, who = failed_job(database, (3, MEMORY))
    line = f"3 items failed and are tried again: {MEMORY.rstrip('.')}"
    assert standing(database, job).words == f"queued: {line}"
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(state="running"))
    claim(database, who, 1)
    assert standing(database, job).words == f"running: {line}"
    back_off(database, job, "endpoint: away", 5.0)
    assert standing(database, job).words == "waiting: endpoint: away"
    end_session(database, who.session)
    assert standing(database, job).state == RealState.NOBODY
    pause(database, job)
    assert standing(database, job).words == "paused"


def test_watch_gives_the_reason_and_not_that_workers_are_idle(database):
    job, who = failed_job(database, (3, MEMORY), (1, "quota"), tasks=4)
    (line,) = waits(database, job)
    assert re.fullmatch(
        r"3 items failed and are tried again: http://gpu-1:8080 answered 500: out of memory "
        r"\(next try in \d+ s\); 1 more failed for other reasons",
        line,
    )
    end_session(database, who.session)
    nobody, line = waits(database, job)
    assert nobody.startswith("nobody works on it: no worker is alive") and line.startswith("3 items failed")
    start_session(database, "1")
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.job == job).values(not_before_at=0.0))
    assert "(due now)" in waits(database, job)[0]
    claim(database, holder(database, job), 4)
    assert "(being tried now)" in waits(database, job)[0]
    back_off(database, job, "endpoint: away", 5.0)
    first, second = waits(database, job)
    assert first.startswith("waits: endpoint: away") and second.startswith("3 items failed")
    pause(database, job)
    assert waits(database, job) == [f"paused: by a person. Continue with: lumos resume {job}"]


def test_the_items_of_a_job_that_is_waited_for_are_named_as_its_own(database):
    other, _ = failed_job(database, (2, "quota"))
    job = new_job(database, digest="cd" * 32)
    await_job(database, job, other, f"for the rollouts of job {other}")
    assert any(
        line.startswith(f"job {other}: 2 items failed and are tried again: quota") for line in waits(database, job)
    )


def test_a_wait_for_approval_does_not_hide_the_reason(database):
    job, _ = failed_job(database, (2, "quota"), tasks=3)
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.job == job, Item.problem == "").values(state="awaiting"))
    plans, line = waits(database, job)
    assert plans == describe_awaiting(1, job) and line.startswith("2 items failed")


@pytest.fixture
def progress(monkeypatch):
    """Makes a Progress as of a process that prints for people; a stall is noticed at once."""
    monkeypatch.setattr(output, "as_json", False)
    monkeypatch.setattr("lumos_queue.cli.live.STALL_SECONDS", -1.0)
    return lambda database, job: Progress(database, Settings(), job)


def test_the_progress_gives_the_reason_and_not_that_items_take_long(database, progress, capsys):
    job, who = failed_job(database, (3, MEMORY + HOSTILE))
    with progress(database, job) as shown:
        for _ in range(3):
            shown.show()
        printed = capsys.readouterr().err
        assert printed.count(f"job {job}: 3 items failed and are tried again: {MEMORY}") == 1, "once a minute"
        assert "items take longer than this" not in printed and not {"\x1b", "\u202e"} & set(printed)
        end_session(database, who.session)
        shown.show()
        assert "no worker is alive. Start one with: lumos worker" in capsys.readouterr().err


def test_the_block_on_a_terminal_has_the_reason(database, progress, monkeypatch):
    job, _ = failed_job(database, (3, MEMORY + HOSTILE))
    screen = Console(file=io.StringIO(), width=400, force_terminal=True, color_system=None, legacy_windows=False)
    monkeypatch.setattr(output, "console", lambda stderr: screen)
    with progress(database, job) as shown:
        for _ in range(3):
            shown.show()
    block = screen.file.getvalue()
    assert block.count(f"3 items failed and are tried again: {MEMORY}") > 1, "in each block, not in the notice alone"
    assert "[red]boom[/red]" in block and not {"\u202e"} & set(block)


def test_without_a_reason_the_progress_still_says_that_items_take_long(database, progress, capsys):
    job, _ = failed_job(database)
    with progress(database, job) as shown:
        for _ in range(2):
            shown.show()
    assert "1 worker alive; items take longer than this" in capsys.readouterr().err


QUOTA = """
import lumos_queue as lq

class Quota(lq.SimpleEndpoint):
    async def reply(self, prompt, sampling):
        raise lq.InfrastructureError("quota of the licence server is used up", retry_after=600)

QUOTA = lq.EndpointScheme(open=Quota)
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """An installed plug-in with the scheme `quota:`, whose endpoint always fails."""
    site = tmp_path / "site"
    site.mkdir()
    write_distribution(site, "quota-model", {"quota_model.py": QUOTA}, {"endpoints": {"quota": "quota_model:QUOTA"}})
    monkeypatch.syspath_prepend(site)
    entry_points_of.cache_clear()
    yield
    entry_points_of.cache_clear()
    sys.modules.pop("quota_model", None)


@contextmanager
def quota_model(rows):
    yield "quota:1"


@contextmanager
def failing_server(rows):
    out_of_memory = (500, b'{"error": "out of memory"}')
    with FakeEndpoint(replying(known(rows, 4) | failing_replies(rows, range(3), out_of_memory))) as server:
        yield server.tgi


@pytest.mark.parametrize(
    ("model", "items", "reason"),
    [
        (quota_model, 4, "quota of the licence server is used up"),
        (failing_server, 3, 'http://127.0.0.1:PORT/generate answered 500: {"error": "out of memory"}'),
    ],
    ids=["a plug-in", "a server"],
)
def test_the_reason_of_a_real_failure_is_on_every_surface(
    tmp_path, plugin, model, items, reason, progress, lumos, monkeypatch, capsys
):
    monkeypatch.setattr("workers.item.ROUND_SECONDS", (600.0, 600.0, 600.0, 600.0))
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.3)
    rows = read_rows(open_benchmark("wordmath"), None, "test", False)
    with model(rows) as url:
        reason = reason.replace("PORT", url.rpartition(":")[2])
        line = f"{items} items failed and are tried again: {reason}"
        run = Run(tmp_path / "home", rows, url, 4, request_retries=0)
        with run.going_on():
            wait_until(lambda: run.ask("SELECT count(*) FROM item WHERE problem <> ''") == [(items,)], "they failed")
            wait_until(lambda: run.done() == 4 - items, "the others are done")
            wait_until(lambda: run.ask("SELECT count(*) FROM item WHERE state = 'claimed'") == [(0,)], "none is held")
            with progress(run.database, run.job) as shown:
                for _ in range(3):
                    shown.show()
            printed = capsys.readouterr().err
            assert f"job {run.job}: {line} (next try in " in printed and "items take longer" not in printed
            watched = WatchedJobs(Settings(), [run.job])
            with run.database.engine.connect() as connection:
                watched.read(connection)
            assert f"{line} (next try in 10 min)" in format_watched(watched.jobs[0])
            lumos.set(COLUMNS=400)
            assert f"queued: {line}" in lumos("jobs").out
            assert lumos("jobs", "--json").json["jobs"][0]["reason"] == line
            assert f"{items} items: {reason}" in lumos("job", run.job).out
            assert json.loads(lumos("job", run.job, "--json").out)["problems"] == [{"problem": reason, "items": items}]
