"""Python loads this file by itself into each worker of a fault case: its folder is on PYTHONPATH.

It gives the process id to the database's triggers (tests/faults/witness.py), and causes faults that only come from
within a process:

    FAULT_CLOCK=600    the process's wall clock is so many seconds ahead; its monotonic clock is not touched
    FAULT_BLOCK=FILE   once FILE exists, the event loop of the first process to see it sleeps for the seconds in it
    FAULT_DEATH_WAITS=1,2,3   seconds before an item of which processes keep dying is tried again
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from pathlib import Path
from sqlite3 import dbapi2


def _tell_postgres() -> None:
    os.environ["PGAPPNAME"] = str(os.getpid())


def _tell_sqlite(*arguments, _connect=dbapi2.connect, **options):
    connection = _connect(*arguments, **options)
    connection.create_function("fault_writer", 0, os.getpid)
    return connection


def _shift_clock(seconds: float) -> None:
    import datetime

    real, real_ns, moment = time.time, time.time_ns, datetime.datetime

    class AnyMoment(type):
        def __instancecheck__(cls, value) -> bool:
            return isinstance(value, moment)

    class Shifted(moment, metaclass=AnyMoment):
        @classmethod
        def now(cls, tz=None):
            return moment.fromtimestamp(time.time(), tz)

        @classmethod
        def utcnow(cls):
            return moment.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

    time.time = lambda: real() + seconds
    time.time_ns = lambda: real_ns() + int(seconds * 1e9)
    datetime.datetime = Shifted


def _block_loop(order: Path) -> None:
    run = asyncio.Runner.run

    def wait_and_block(loop: asyncio.AbstractEventLoop) -> None:
        while not loop.is_closed():
            try:
                seconds = float(order.read_text())
                order.unlink()  # the first process that does so is the one
            except (OSError, ValueError):
                time.sleep(0.05)
                continue
            loop.call_soon_threadsafe(time.sleep, seconds)

    def run_beside(self: asyncio.Runner, *arguments, **options):
        threading.Thread(target=wait_and_block, args=(self.get_loop(),), daemon=True).start()
        return run(self, *arguments, **options)

    asyncio.Runner.run = run_beside


_tell_postgres()
os.register_at_fork(after_in_child=_tell_postgres)
sqlite3.connect = dbapi2.connect = _tell_sqlite
if "FAULT_CLOCK" in os.environ:
    _shift_clock(float(os.environ["FAULT_CLOCK"]))
if "FAULT_BLOCK" in os.environ:
    _block_loop(Path(os.environ["FAULT_BLOCK"]))
if "FAULT_DEATH_WAITS" in os.environ:
    import db.queue.quarantine

    db.queue.quarantine.WAITS = tuple(map(float, os.environ["FAULT_DEATH_WAITS"].split(",")))
