"""Values that a forked process makes anew."""

from __future__ import annotations

import os

from workers.per_process import PerProcess


def test_a_process_makes_its_value_once_and_a_fork_makes_its_own(monkeypatch):
    values = PerProcess(object)
    mine = values.get()
    assert values.get() is mine
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert values.take() is None, "the parent's value is not the fork's to close"
    other = values.get()
    assert other is not mine and values.get() is other
    monkeypatch.undo()
    assert values.take() is None
    assert values.get() not in (mine, other)


def test_a_value_that_was_taken_is_made_again(monkeypatch):
    values = PerProcess(object)
    assert values.take() is None
    first = values.get()
    assert values.take() is first and values.take() is None
    assert values.get() is not first


def test_a_real_fork_gets_its_own():
    values = PerProcess(lambda: os.getpid())
    assert values.get() == os.getpid()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, str(values.get()).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 20)) == child
    os.close(reading)
    os.close(writing)
