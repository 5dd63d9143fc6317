"""The database's door: what will not do is refused in one line, and nothing is left behind."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select, text

import db.engine.sqlite
from db.engine.connection import now, open_database
from db.engine.sqlite import filesystem
from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.settings import Settings, read_settings


def test_a_network_file_system_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(db.engine.sqlite, "filesystem", lambda folder: "nfs4")
    with pytest.raises(SpecError, match=r"network file system \(nfs4\), where SQLite loses writes: set LUMOS_HOME"):
        open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    assert list(tmp_path.iterdir()) == []


def test_the_file_system_of_a_folder_is_read_from_the_mounts():
    assert filesystem(Path("/proc/self")) == "proc"
    assert filesystem(Path("/")) not in ("", "proc")


def test_a_folder_that_cannot_be_written_is_refused():
    with pytest.raises(SpecError, match="Cannot create the folder '/proc/lumos'"):
        open_database("sqlite:////proc/lumos/lumos.db")


def test_a_database_in_memory_is_refused():
    with pytest.raises(SpecError, match="name a file"):
        open_database("sqlite://")


def test_a_server_that_does_not_answer_is_named_without_its_password():
    with pytest.raises(InfrastructureError, match=r"postgresql\+psycopg://me:\*\*\*@127.0.0.1:1/lumos does not answer"):
        open_database("postgresql+psycopg://me:secret@127.0.0.1:1/lumos")


@pytest.mark.parametrize("given", ["postgres://h/d", "postgresql://h/d", "postgresql+psycopg://h/d"])
def test_every_spelling_of_postgresql_uses_the_same_driver(given):
    assert Settings(database_url=given).database == "postgresql+psycopg://h/d"


@pytest.mark.parametrize("given", ["mysql://h/d", "lumos.db"])
def test_another_kind_of_database_is_refused(given):
    with pytest.raises(SpecError, match="expected sqlite:///FILE or postgresql://HOST/NAME"):
        Settings(database_url=given).database  # noqa: B018


def test_a_setting_that_is_wrong_is_named(monkeypatch):
    monkeypatch.setenv("LUMOS_CONCURRENCY", "many")
    with pytest.raises(SpecError, match="LUMOS_CONCURRENCY is 'many'"):
        read_settings()
    monkeypatch.setenv("LUMOS_CONCURRENCY", "4")
    monkeypatch.setenv("LUMOS_LEASE_SECONDS", "1")
    with pytest.raises(SpecError, match=r"LUMOS_LEASE_SECONDS 1\.0 must be strictly increasing"):
        read_settings()


def test_the_database_is_durable_and_its_clock_tells_the_time(tmp_path):
    database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    with database.engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2  # FULL
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
        import time

        assert abs(connection.execute(select(now())).scalar_one() - time.time()) < 60
    database.close()


def test_a_new_file_may_be_opened_by_many_at_once(tmp_path):
    for number in range(10):
        url = f"sqlite:///{tmp_path / f'{number}.db'}"
        with ThreadPoolExecutor(8) as threads:
            for database in list(threads.map(lambda _, url=url: open_database(url), range(8))):
                with database.engine.connect() as connection:
                    assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
                database.close()
