"""A network that swallows everything between a process and PostgreSQL, while the connections stay as they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from db.engine.connection import open_database
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import DatabaseFailure, DatabaseUnavailable
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.services import wait_until
from tests.stored_rows import wait_for
from tests.tcp_proxy import TcpProxy
from workers.stop_signal import LEAVING_SECONDS

ROOT = Path(__file__).resolve().parents[2]
DRAIN = 1.0  #: seconds


@pytest.fixture
def behind(postgres_url):
    """A proxy to the server, and the URL of a fresh database through it."""
    direct = make_url(postgres_url)
    with TcpProxy(str(Path(str(direct.query["host"])) / ".s.PGSQL.5432")) as proxy:
        through = direct.set(host="127.0.0.1", port=proxy.port, query={})
        yield proxy, through.render_as_string(hide_password=False)


def test_a_connection_on_which_nothing_comes_is_cut_and_replaced(behind):
    proxy, url = behind
    database = open_database(url)
    failures: list[BaseException] = []

    def ask() -> None:
        try:
            with database.engine.connect() as connection:
                connection.execute(text("SELECT 1"))
        except DatabaseFailure as error:
            failures.append(error)

    assert database.connections and database.connections.silent_seconds() == 0.0
    proxy.mode = "black_hole"
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    wait_until(lambda: database.connections.silent_seconds() > 0.5, "the silence is noticed")
    assert database.connections.close_silent(60.0) == 0 and not failures
    assert database.connections.close_silent(0.5) == 1
    thread.join(60)
    assert isinstance(failures[0], DatabaseUnavailable) and database.connections.silent_seconds() == 0.0
    proxy.mode = "pass"
    ask()
    assert len(failures) == 1
    database.close()


def test_a_slow_statement_is_not_cut_while_the_server_answers_others(behind):
    _, url = behind
    database = open_database(url)
    with database.engine.connect() as slow:
        thread = threading.Thread(target=slow.execute, args=(text("SELECT pg_sleep(1.5)"),))
        thread.start()
        cut = 0
        while thread.is_alive():
            with database.engine.connect() as other:
                other.execute(text("SELECT 1"))
            cut += database.connections.close_silent(0.5)
            time.sleep(0.05)
        assert cut == 0
    database.close()


@pytest.mark.long
def test_TERM_ends_an_embedded_run_whose_database_is_silent(postgres_url, behind, tmp_path):
    proxy, url = behind
    rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
    settings = Settings(database_url=postgres_url)
    database = open_database(settings.database)
    with FakeEndpoint(from_mapping(gold_replies(rows.benchmark, rows.tasks[:40], "iterative")), latency=0.3) as server:
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=40))
        identifier, _ = submit(database, settings, job, rows)

        def start(address: str) -> subprocess.Popen:
            times = {
                "LUMOS_DRAIN_SECONDS": str(DRAIN),
                "LUMOS_LEASE_SECONDS": "3",
                "LUMOS_FENCE_SECONDS": "2",
                "LUMOS_HEARTBEAT_SECONDS": "0.5",
                "LUMOS_CONCURRENCY": "8",
            }
            command = [sys.executable, "-m", "lumos_queue.cli.main", "resume", identifier]
            with (tmp_path / "log").open("ab") as log:
                return subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env={
                        **os.environ,
                        **times,
                        "LUMOS_HOME": str(tmp_path),
                        "LUMOS_DATABASE_URL": address,
                        "PYTHONPATH": str(ROOT),
                    },
                    stdout=log,
                    stderr=log,
                )

        run = start(url)
        try:
            wait_until(lambda: server.count > 20, "the job is under way")
            proxy.mode = "black_hole"
            time.sleep(1.0)
            run.send_signal(signal.SIGTERM)
            run.wait(DRAIN + LEAVING_SECONDS + 60)  # the time limits of the client are minutes
        finally:
            run.kill()
        other = start(postgres_url)
        try:
            wait_for(database, identifier, seconds=30)
            other.wait(10)
        finally:
            other.kill()
    database.close()
