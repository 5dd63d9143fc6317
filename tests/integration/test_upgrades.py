"""Several processes that migrate one fresh database at the same moment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from db.engine.connection import open_database
from db.engine.migrate import current, head
from lumos_queue.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 8


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_fresh_database_may_be_upgraded_by_many_at_once(kind, request, tmp_path):
    if kind == "sqlite":
        url = f"sqlite:///{tmp_path / 'lumos.db'}"
    else:
        server = request.getfixturevalue("postgres_server")
        server.execute("CREATE DATABASE upgraded_at_once")
        url = server.url("upgraded_at_once")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LUMOS_DATABASE_URL": url}
    command = [sys.executable, "-m", "lumos_queue.cli.main", "db", "upgrade"]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for _ in range(PROCESSES)
    ]
    said = [one.communicate(timeout=120)[0] for one in running]
    assert [one.returncode for one in running] == [0] * PROCESSES, said
    assert set(said) == {f"the database is at revision {head()}\n"}
    database = open_database(Settings(database_url=url).database)
    assert current(database) == head()
    database.close()
