"""Rejected messages are counted in memory and stored by a thread, on SQLite."""

from __future__ import annotations

import pytest
from sqlalchemy import select

import workers.rejection_counter
from db.engine.connection import open_database
from db.models import RefusedMessage
from lumos_queue.settings import Settings
from tests.services import wait_until
from tests.stored_rows import make_tables
from workers.per_process import PerProcess
from workers.rejection_counter import (
    MAX_DETAIL,
    RejectedMessageCounter,
    close_rejected_messages,
    get_rejection_counter,
)


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path / "home")


@pytest.fixture
def counter(settings, monkeypatch):
    """A counter that writes only once before it is closed."""
    monkeypatch.setattr(workers.rejection_counter, "EVERY_SECONDS", 3600.0)
    counter = RejectedMessageCounter(settings)
    yield counter
    counter.close()


def read_counts(settings: Settings) -> dict[str, tuple[int, str]]:
    """Return the number of messages and the latest description, by reason."""
    database = open_database(settings.database)
    try:
        with database.engine.connect() as connection:
            rows = connection.execute(select(RefusedMessage.reason, RefusedMessage.messages, RefusedMessage.latest))
            return {row.reason: (row.messages, row.latest) for row in rows}
    finally:
        database.close()


def test_counts_are_added_up_by_reason_with_the_latest_description(settings, counter, caplog):
    make_tables(settings.home)
    counter.add("forged", "a")
    wait_until(lambda: caplog.messages, "they are stored")
    assert read_counts(settings) == {"forged": (1, "a")}
    counter.add("forged", "b", 2)
    counter.add("too large", "c")
    counter.add("forged", "d")
    counter.close()
    assert read_counts(settings) == {"forged": (4, "d"), "too large": (1, "c")}
    assert caplog.messages == [
        "refused 1 message: forged; the latest: a",
        "refused 3 messages: forged; the latest: d",
        "refused 1 message: too large; the latest: c",
    ]


def test_a_description_by_a_stranger_is_shortened_and_printable(settings, counter):
    make_tables(settings.home)
    counter.add("forged", "\x1b[2J\n" + "ä" * 1000)
    counter.close()
    assert read_counts(settings) == {"forged": (1, "?[2J?" + "ä" * (MAX_DETAIL - 5))} and MAX_DETAIL == 200


def test_a_counter_without_counts_writes_nothing_and_ends(settings, counter, caplog):
    thread = counter._thread
    assert thread.daemon and thread.name == "rejected messages" and thread.is_alive()
    counter.close()
    assert not thread.is_alive() and caplog.messages == [] and not settings.home.exists()


def test_counts_wait_for_the_database_with_those_that_come_later(settings, monkeypatch, caplog):
    monkeypatch.setattr(workers.rejection_counter, "AGAIN_SECONDS", 0.01)
    counter = RejectedMessageCounter(settings)
    counter.add("forged", "a", 2)
    counter.add("too large", "b")
    wait_until(lambda: len(caplog.messages) > 2, "it tries again")
    counter.add("forged", "c")
    make_tables(settings.home)
    wait_until(lambda: any("refused 3 messages" in line for line in caplog.messages), "they are stored")
    counter.close()
    assert read_counts(settings) == {"forged": (3, "c"), "too large": (1, "b")}
    assert caplog.messages[0].startswith("refused messages not counted yet: There is no database at ")


def test_counts_are_lost_if_the_database_does_not_answer_at_the_end(settings, counter, caplog):
    counter.add("forged", "a")
    wait_until(lambda: caplog.messages, "it fails")
    thread = counter._thread
    counter.close()
    assert not thread.is_alive() and len(caplog.messages) == 2


def test_a_process_has_one_counter_until_its_end(settings, monkeypatch, caplog):
    counters = workers.rejection_counter._counters
    monkeypatch.setattr(workers.rejection_counter, "_counters", PerProcess(counters._make))
    monkeypatch.setenv("LUMOS_HOME", str(settings.home))
    make_tables(settings.home)
    close_rejected_messages()
    counter = get_rejection_counter()
    assert get_rejection_counter() is counter
    counter.add("forged", "a")
    close_rejected_messages()
    assert read_counts(settings) == {"forged": (1, "a")} and not counter._thread.is_alive()
    assert get_rejection_counter() is not counter
    close_rejected_messages()
