"""What becomes of a job while its endpoint answers with a status that is no reply."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from db.connection import open_database
from db.migrate import upgrade
from lumos_queue.agent import Agent
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.settings import Settings
from lumos_queue.submission import read_rows, submit
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.services import wait_until
from workers.dispatcher import Dispatcher
from workers.process import Process


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "test", False)


class Run:
    """A job whose one process is a dispatcher in a thread, as `lumos` without a server has it."""

    def __init__(self, folder, rows, url: str, items: int, **settings):
        self.settings = Settings(home=folder, poll_seconds=0.2, **settings)
        self.database, self.process = open_database(self.settings.database), Process(self.settings)
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
