"""Rows whose requests a server always fails while it answers others, and a server that fails all of them."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest
from sqlalchemy import text

from db.engine.connection import now
from db.queue.batch import Batch, ReturnedItem
from db.queue.claims import ClaimRequest
from db.queue.commit import commit
from db.queue.endings import take_back
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import KEPT_DIGITS
from lumos_queue.submission.store import read_rows
from tests.claims import claim, holder, new_job
from tests.fake_endpoint import FakeEndpoint, digest
from tests.gold_agent import gold_replies
from tests.integration.test_statuses import Run, known
from tests.services import wait_until

ERROR = (200, b'{"error": {"message": "Provider returned error", "code": 400}}')
HALF = (200, b"{half a reply")


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "test", False)


@pytest.fixture
def soon(monkeypatch):
    """Waits of seconds take parts of a second."""
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.3)
    monkeypatch.setattr("workers.item.ROUND_SECONDS", (0.2, 0.3, 0.4, 0.5))
    monkeypatch.setattr("workers.run.WAIT_SECONDS", 0.5)
    monkeypatch.setattr("workers.slice.UNDECIDED_SECONDS", 0.3)


def replying(replies: dict):
    """As `from_mapping`, and the control of a client is answered, too."""
    return lambda prompt: " 2" if prompt.startswith("1 + 1") else replies.get(digest(prompt))


def failing(rows, ordinals, failure) -> dict:
    return dict.fromkeys(gold_replies(rows.benchmark, [rows.tasks[n] for n in ordinals], "iterative"), failure)


def kept(digests) -> set[str]:
    """As much of them as the server's list of calls has."""
    return {name[:KEPT_DIGITS] for name in digests}


def endings(run: Run) -> list[tuple]:
    return run.ask("SELECT ending, count(*) FROM episode GROUP BY ending ORDER BY ending")


@pytest.mark.parametrize(
    ("failure", "concurrency"),
    [(500, 2), (ERROR, 16), (HALF, 16), *(pytest.param(each, 2, marks=pytest.mark.long) for each in (424, ERROR))],
    ids=["500, 2 slots", "an error in place of a reply", "half a reply", "424, 2 slots", "an error, 2 slots"],
)
def test_rows_that_always_fail_end_after_the_others_and_cost_them_nothing(tmp_path, rows, failure, concurrency, soon):
    bad = range(4)  # the rows that are claimed first
    replies = known(rows, 24) | failing(rows, bad, failure)
    with FakeEndpoint(replying(replies), latency=0.05) as server:
        run = Run(tmp_path, rows, server.tgi, 24, concurrency=concurrency, request_retries=1)
        with run.going_on():
            run.wait_for_end()
            assert endings(run) == [("answered", 20), ("infra_error", 4)]
            ended = run.ask(
                "SELECT i.ordinal, i.failures, e.message FROM item i JOIN episode e ON e.id = i.id "
                "WHERE e.ending = 'infra_error' ORDER BY i.ordinal"
            )
            assert [row[0] for row in ended] == list(bad)
            assert all(row[1] == 4 for row in ended), "four rounds were given back, the fifth ended the row"
            words = "answered 500" if failure == 500 else "answered 424" if failure == 424 else "sent no valid reply"
            assert all("failed 5 times while the server answered others" in row[2] and words in row[2] for row in ended)
            assert run.ask("SELECT max(waits) FROM job") == [(0,)], "the server was never called down"
            healthy = kept(known(rows, 24).keys() - failing(rows, bad, failure).keys())
            sent = [call["sha256"] for call in server.calls if call["sha256"] in healthy]
            assert len(sent) == len(set(sent)) == len(healthy), "no reply was thrown away"


def test_resume_owes_such_a_row_again_with_all_its_rounds(tmp_path, rows, soon):
    with FakeEndpoint(replying(known(rows, 3) | failing(rows, [1], 500))) as server:
        run = Run(tmp_path, rows, server.tgi, 3, request_retries=0)
        with run.going_on():
            run.wait_for_end()
            assert endings(run) == [("answered", 2), ("infra_error", 1)]
            with run.database.writer.begin() as connection:
                assert take_back(connection, run.job) == 1
            assert run.ask("SELECT state, failures FROM item WHERE ordinal = 1") == [("owed", 0)]


def test_a_failing_row_is_claimed_after_the_others(tmp_path, rows, soon):
    replies = known(rows, 12) | failing(rows, [0], 500)
    with FakeEndpoint(replying(replies), latency=0.1) as server:
        run = Run(tmp_path, rows, server.tgi, 12, concurrency=1, request_retries=0)
        with run.going_on():
            run.wait_for_end()
        bad = kept(failing(rows, [0], 500))
        tries = [number for number, call in enumerate(server.calls) if call["sha256"] in bad]
        last_claimed = kept(gold_replies(rows.benchmark, [rows.tasks[11]], "iterative"))
        first = next(number for number, call in enumerate(server.calls) if call["sha256"] in last_claimed)
        assert len(tries) == 5 * 2, "five rounds: a try, evidence, and the last try"
        assert tries[0] == 0 and tries[1] < first < tries[2]


@pytest.mark.parametrize("mode", ["500", "503", "reset", "garbage"])
def test_an_outage_charges_no_row(tmp_path, rows, mode, soon):
    with FakeEndpoint(replying(known(rows, 40)), latency=0.05) as server:
        run = Run(tmp_path, rows, server.tgi, 40, request_retries=1)
        with run.going_on():
            wait_until(lambda: run.done() > 5, "the job is under way")
            server.mode = mode
            wait_until(lambda: run.process.outage, "the outage is known")
            wait_until(lambda: run.ask("SELECT waits FROM job")[0][0] >= 2, "the job has waited twice")
            server.mode = "ok"
            run.wait_for_end()
            assert endings(run) == [("answered", 40)]
            assert run.ask("SELECT max(failures) FROM item") == [(0,)]


def test_calls_in_flight_at_a_server_that_is_called_down_end_and_are_recorded(tmp_path, rows, soon):
    """Two rows are being answered, slowly, while all the others and a control fail."""
    replies, slow = known(rows, 10), failing(rows, [0, 1], "").keys()
    healed = False

    def reply(prompt: str):
        if digest(prompt) in slow:
            time.sleep(0 if healed else 0.2)
            return replies[digest(prompt)]
        return replying(replies)(prompt) if healed else 500

    with FakeEndpoint(reply, latency=3.0) as server:
        run = Run(tmp_path, rows, server.tgi, 10, request_seconds=1.0, request_retries=0)
        with run.going_on():
            wait_until(lambda: run.process.outage, "the server is called down", 60)
            healed, server.latency = True, 0.02
            run.wait_for_end()
            assert endings(run) == [("answered", 10)]
        sent = Counter(call["sha256"] for call in server.calls if call["sha256"] in kept(slow))
        assert sent.keys() == kept(slow) and set(sent.values()) == {1}


def test_an_item_that_failed_is_due_again_after_the_seconds_of_its_round(tmp_path, rows, soon, monkeypatch):
    monkeypatch.setattr("workers.item.ROUND_SECONDS", (50.0, 60.0, 70.0, 80.0))
    replies = known(rows, 2) | failing(rows, [0], 500)
    with FakeEndpoint(replying(replies)) as server:
        run = Run(tmp_path, rows, server.tgi, 2, request_retries=0)
        with run.going_on():
            wait_until(lambda: run.ask("SELECT sum(failures) FROM item") == [(1,)], "a round has failed")
            with run.database.engine.connect() as connection:
                left = connection.execute(text("SELECT not_before_at FROM item WHERE ordinal = 0")).scalar()
                at = connection.execute(now().select()).scalar()
            assert 30 < left - at <= 50
            assert run.ask("SELECT problem FROM item WHERE ordinal = 0")[0][0].startswith("http://127.0.0.1")


def test_items_that_have_failed_are_claimed_when_no_other_is_due(database):
    job = new_job(database, tasks=4)
    first = holder(database, job)
    failed = claim(database, first, 2)
    batch = Batch({item.id: item.claim for item in failed})
    batch.given_back = [ReturnedItem(item.id, "answered 500", failed=item.ordinal == 0) for item in failed]
    assert [(item.ordinal, item.failures) for item in commit(database, first, batch, ClaimRequest(10))] == [
        (1, 0),
        (2, 0),
        (3, 0),
    ]
    other = holder(database, job)
    assert [(item.ordinal, item.failures) for item in claim(database, other)] == [(0, 1)]


def test_a_server_that_asks_for_time_charges_no_row(tmp_path, rows, soon):
    """503 with Retry-After, for one row, while the others are answered."""
    asks_for_time = failing(rows, [0], "").keys()
    is_well = False

    class Patient(FakeEndpoint):
        def answer(self, path, raw, *rest):
            if not is_well and digest(json.loads(raw)["inputs"]) in asks_for_time:
                self.failures.appendleft("503:1")
            super().answer(path, raw, *rest)

    with Patient(replying(known(rows, 8)), latency=0.05) as server:
        run = Run(tmp_path, rows, server.tgi, 8, request_retries=1)
        with run.going_on():
            wait_until(lambda: run.done() == 7, "the others are done")
            wait_until(lambda: run.ask("SELECT problem FROM item WHERE ordinal = 0")[0][0], "its tries are used up", 60)
            assert run.ask("SELECT failures FROM item WHERE ordinal = 0") == [(0,)]
            is_well = True
            run.wait_for_end()
            assert endings(run) == [("answered", 8)]
