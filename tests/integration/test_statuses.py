"""What becomes of a job while its endpoint answers with a status that is no reply."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.fake_endpoint import FakeEndpoint, digest, from_mapping
from tests.gold_agent import gold_replies
from tests.services import wait_until
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "test", False)


class Run:
    """A job whose one process is a dispatcher in a thread, as `lumos` without a server has it."""

    def __init__(self, folder, rows, url: str, items: int, **settings):
        self.settings = Settings(home=folder, poll_seconds=0.2, **settings)
        self.database, self.process = open_database(self.settings.database), WorkerContext(Deployment(self.settings))
        upgrade(self.database)
        agent = Agent(roles={"planner": url, "grounder": url}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, "test", "iterative", agent, limit=items))
        self.job, _ = submit(self.database, self.settings, job, rows)

    @contextmanager
    def going_on(self):
        stop = threading.Event()
        dispatcher = Dispatcher(self.process, ["llm"], only=self.job)
        thread = threading.Thread(target=dispatcher.run, args=(stop.is_set,))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(20)
            self.process.close()
            self.database.close()
            assert not thread.is_alive()

    def ask(self, query: str):
        with self.database.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(query))]

    def done(self) -> int:
        return self.ask("SELECT count(*) FROM item WHERE state = 'done'")[0][0]

    def wait_for_end(self, seconds: float = 60.0) -> None:
        wait_until(lambda: self.ask("SELECT state FROM job") == [("done",)], "the job is done", seconds)


def known(rows, items: int) -> dict[str, str]:
    return gold_replies(rows.benchmark, rows.tasks[:items], "iterative")


def test_a_process_knows_the_outage_it_met_until_an_item_is_finished(tmp_path, rows):
    with FakeEndpoint(from_mapping(known(rows, 10)), mode="503") as server:
        run = Run(tmp_path, rows, server.tgi, 10)
        with run.going_on():
            wait_until(lambda: run.process.outage, "the outage is known")
            assert f"127.0.0.1:{server.port}" in str(run.process.outage)
            server.mode = "ok"
            run.wait_for_end()
            assert run.process.outage is None


REFUSALS = (301, 400, 401, 402, 403, 404, 405, 410, 413, 418, 422, 451)


@pytest.fixture
def soon(monkeypatch):
    """What waits for seconds waits for parts of one."""
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.5)
    monkeypatch.setattr("workers.run.WAIT_SECONDS", 0.5)
    monkeypatch.setattr("workers.slice.REFUSED_SECONDS", 0.8)
    monkeypatch.setattr("workers.slice.UNDECIDED_SECONDS", 0.3)


@pytest.mark.parametrize(
    "status", [one if one in (301, 401, 404) else pytest.param(one, marks=pytest.mark.long) for one in REFUSALS]
)
def test_a_second_of_refusals_costs_no_item_anything(tmp_path, rows, status, soon):
    with FakeEndpoint(from_mapping(known(rows, 300)), latency=0.05) as server:
        run = Run(tmp_path, rows, server.tgi, 300)
        with run.going_on():
            wait_until(lambda: run.done() > 30, "the job is under way")
            asked, server.mode = server.count, f"{status}"
            wait_until(lambda: run.process.outage or run.done() == 300, "the outage is known")
            refused, server.mode = server.count - asked, "ok"
            assert run.process.outage and run.process.outage.status == status
            run.wait_for_end()
            assert run.process.outage is None
            assert run.ask("SELECT ending, count(*) FROM episode GROUP BY ending") == [("answered", 300)]
            assert run.ask("SELECT sum(failures), max(problem) FROM item") == [(0, "")]
            assert refused <= 2 * run.settings.concurrency, "nobody asks on and on"


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_request_that_is_wrong_ends_its_own_item_alone(tmp_path, rows, status, concurrency, soon):
    items, poisoned = (200, 60) if concurrency > 1 else (12, 5)
    replies: dict = known(rows, items)
    replies |= dict.fromkeys(gold_replies(rows.benchmark, [rows.tasks[poisoned]], "iterative"), status)
    with FakeEndpoint(from_mapping(replies), latency=0.02) as server:
        run = Run(tmp_path, rows, server.tgi, items, concurrency=concurrency)
        with run.going_on():
            run.wait_for_end()
            wrong = run.ask(
                "SELECT i.ordinal, e.ending, e.message FROM episode e JOIN item i ON i.id = e.id "
                "WHERE e.ending <> 'answered'"
            )
            assert [row[:2] for row in wrong] == [(poisoned, "infra_error")]
            assert f"answered {status}: " in wrong[0][2]
            assert run.process.outage is None
            assert run.ask("SELECT max(waits) FROM job") == [(0,)]


def test_the_last_item_waits_with_its_reason_while_the_server_refuses_everything(tmp_path, rows, soon):
    with FakeEndpoint(from_mapping(known(rows, 1)), latency=0.02, mode="400") as server:
        run = Run(tmp_path, rows, server.tgi, 1)
        with run.going_on():
            wait_until(lambda: run.ask("SELECT waits FROM job")[0][0] >= 2, "the job has been put off twice")
            assert run.process.outage and run.process.outage.status == 400
            assert f"127.0.0.1:{server.port} answered 400 Bad Request" in str(run.process.outage)
            assert run.ask("SELECT state, failures FROM item") in ([("owed", 0)], [("claimed", 0)])
            assert server.count <= 8, "it is not asked again and again"
            server.mode = "ok"
            run.wait_for_end()
            assert run.ask("SELECT ending FROM episode") == [("answered",)]


@pytest.mark.parametrize("status", [400, 422])
def test_the_last_items_end_when_only_their_requests_are_refused(tmp_path, rows, soon, status):
    """Nobody else is left who could be answered: a control of our own is."""
    last = rows.tasks[8:12]
    replies: dict = known(rows, 12) | dict.fromkeys(gold_replies(rows.benchmark, last, "iterative"), status)
    with FakeEndpoint(lambda prompt: replies.get(digest(prompt)), latency=0.02) as server:
        run = Run(tmp_path, rows, server.tgi, 12)
        with run.going_on():
            run.wait_for_end()
            found = run.ask("SELECT ending, count(*) FROM episode GROUP BY ending ORDER BY ending")
            assert found == [("answered", 8), ("infra_error", 4)]
