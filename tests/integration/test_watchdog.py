"""A process that does not end when told, and a database that is silent: how long each is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import DatabaseUnavailable
from lumos_queue.settings import Settings
from tests.integration.test_work import ended_by
from workers.context import WorkerContext
from workers.hang import HUNG
from workers.stop_signal import LEAVING_SECONDS
from workers.watchdog import Watchdog

ROOT = Path(__file__).resolve().parents[2]
#: Told to end from the start (or never), and at work for a minute all the same.
PROGRAM = """
import sys, time
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.settings import Settings
from workers.context import WorkerContext
from workers.watchdog import Watchdog

process = WorkerContext(Deployment(Settings(database_url=sys.argv[1], drain_seconds=0.5)))
print(process.session.id, flush=True)
with Watchdog(process, lambda: sys.argv[2] == "told"):
    time.sleep(60)
"""


def start(database, told: str) -> tuple[subprocess.Popen, int]:
    command = [sys.executable, "-c", PROGRAM, database.url, told]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE)
    assert process.stdout
    return process, int(process.stdout.readline())


def test_a_process_that_does_not_end_when_told_is_ended_and_its_items_are_owed_at_once(database):
    other, _ = start(database, "not told")
    told, session = start(database, "told")
    began = time.monotonic()
    try:
        assert told.wait(60) == HUNG
        took = time.monotonic() - began
        assert took > LEAVING_SECONDS - 1, "it had its time"
        assert ended_by(database, session) == "itself"
        assert other.poll() is None
    finally:
        for process in (told, other):
            process.kill()
            process.communicate()


def ask(url: str, lease_seconds: float, statement_seconds: float) -> None:
    """Wait for a statement that takes so long on the only connection in use."""
    process = WorkerContext(Deployment(Settings(database_url=url, lease_seconds=lease_seconds)))
    try:
        with Watchdog(process, lambda: False), process.database.engine.connect() as connection:
            connection.execute(text("SELECT pg_sleep(:seconds)"), {"seconds": statement_seconds})
    finally:
        process.close()


def test_a_silent_database_is_waited_for_until_the_lease_ends_and_no_longer(postgres_url, caplog):
    ask(postgres_url, lease_seconds=8.0, statement_seconds=4.0)
    assert "has not answered since" in caplog.text, "it took long enough to be noticed"
    with pytest.raises(DatabaseUnavailable):
        ask(postgres_url, lease_seconds=2.0, statement_seconds=600.0)
