"""Inject faults at chosen calls of the database driver, in one process after the other. A program that forks:

    LUMOS_DATABASE_URL=… python -m tests.faults.fault_injector --how kill --faults 200 --seed 0

Each child is a dispatcher that works on pending items. It counts its calls to the driver (before and after each
statement, before, during and after each commit), and the fault comes at the n-th call. First n grows from 1, then it
is random. Values of --how:

    kill      the child gets SIGKILL
    quit      the child gets SIGQUIT and ends as a child of Celery does: SystemExit in its main thread, while the thread
              that writes goes on until the process is gone
    backend   the server's process behind the connection is ended, at commits only; the child has to recover, and
              continues until it had as many faults as requested

The last line of output is a JSON object with the number of faults at each point.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from typing import Any, NoReturn

from sqlalchemy import event, select

from db.engine.connection import Database, open_database
from db.kinds.states import OPEN
from db.models import JobRow, WorkerSessionRow
from db.queue.fence import end_session
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.settings import read_settings
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

SYSTEMATIC = 100  #: number of first calls that are chosen one after the other
MAX_CALL = 300  #: largest call that is chosen at random
WITHIN_SECONDS = 120.0  #: a child ends after this time without a fault, because it has too little to do


class FaultInjector:
    """Listens to every call of an engine's driver, and causes a fault at the n-th."""

    def __init__(self, database: Database, how: str, next_call: int, faults: int, pick: random.Random):
        self.how, self.at, self.pick = how, next_call, pick
        self.left = faults
        self._count, self._lock = 0, threading.Lock()
        engine, dialect = database.engine, database.engine.dialect
        self._commit = dialect.do_commit
        dialect.do_commit = self._commit_with_faults
        if how != "backend":
            event.listen(engine, "before_cursor_execute", lambda *call: self._point("before statement", call[0]))
            event.listen(engine, "after_cursor_execute", lambda *call: self._point("after statement", call[0]))

    def _commit_with_faults(self, dbapi_connection: Any) -> None:
        self._point("before commit", dbapi_connection)
        if self._is_due():
            # At the same time as the commit, a moment after it begins: the exact moment is random.
            delay = self.pick.uniform(0.0, 0.001)
            arguments = ("during commit", self._victim(dbapi_connection), delay)
            threading.Thread(target=self._inject, args=arguments).start()
            self._commit(dbapi_connection)
            return
        self._commit(dbapi_connection)
        self._point("after commit", dbapi_connection)

    def _is_due(self) -> bool:
        with self._lock:
            self._count += 1
            if self._count != self.at or not self.left:
                return False
            self.at += self.pick.randint(1, 10)
            return True

    def _point(self, point: str, connection: Any) -> None:
        if not self._is_due():
            return
        self._inject(point, self._victim(connection))
        if self.how == "backend" and point == "after commit":
            # The rows are stored, but the client does not know: the reply to the commit was lost with the connection.
            connection.cursor().execute("SELECT pg_sleep(5)")

    def _victim(self, connection: Any) -> int:
        return connection.dbapi_connection.info.backend_pid if self.how == "backend" else os.getpid()

    def _inject(self, point: str, victim: int, delay: float = 0.0) -> None:
        time.sleep(delay)
        print(point, flush=True)
        self.left -= 1
        os.kill(victim, {"kill": signal.SIGKILL, "quit": signal.SIGQUIT, "backend": signal.SIGTERM}[self.how])


def child(how: str, next_call: int, faults: int, seed: int) -> NoReturn:
    """Run a dispatcher until the fault."""
    os.environ["PGAPPNAME"] = str(os.getpid())
    code = 0
    process = WorkerContext(Deployment(read_settings()))
    try:
        signal.signal(signal.SIGQUIT, _leave)
        injector = FaultInjector(process.database, how, next_call, faults, random.Random(seed))
        until = time.monotonic() + WITHIN_SECONDS
        Dispatcher(process, ["llm"]).run(lambda: not injector.left or time.monotonic() > until)
    except SystemExit:
        pass
    except BaseException:
        logging.exception("a child failed")
        code = 1
    finally:
        process.close()  # as a child of Celery does, when it ends at all
        sys.stdout.flush()
        os._exit(code)


def _leave(*_: object) -> NoReturn:
    raise SystemExit


def inject_faults(how: str, faults: int, seed: int) -> dict[str, int]:
    """Run one child after the other; return the number of faults at each point."""
    pick, url, counts = random.Random(seed), read_settings().database, Counter()
    for number in range(1, 10 * faults):
        if (remaining := faults - counts.total()) <= 0 or not _has_open_job(url):
            break
        next_call = number if number <= min(SYSTEMATIC, faults) else pick.randint(1, MAX_CALL)
        reader, writer = os.pipe()
        pid = os.fork()
        if not pid:
            os.dup2(writer, sys.stdout.fileno())
            child(how, next_call, remaining if how == "backend" else 1, pick.randrange(2**32))
        os.close(writer)
        with os.fdopen(reader) as output:
            points = output.read().splitlines()
        _, status = os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status) not in (0, -signal.SIGKILL):
            raise RuntimeError(f"a child ended with {status} after the fault '{points}' at call {next_call}")
        counts.update(points)
        _close_sessions(url)
    return dict(counts)


def _has_open_job(url: str) -> bool:
    database = open_database(url)
    with database.engine.connect() as connection:
        job = connection.execute(select(JobRow.id).where(JobRow.state.in_(OPEN))).first()
    database.close()
    return job is not None


def _close_sessions(url: str) -> None:
    """End the sessions of dead processes at once. `reap` would wait for the lease and suspect items."""
    database = open_database(url)
    with database.engine.connect() as connection:
        sessions = (
            connection.execute(select(WorkerSessionRow.id).where(WorkerSessionRow.ended_at.is_(None))).scalars().all()
        )
    for session in sessions:
        end_session(database, session)
    database.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--how", choices=("kill", "quit", "backend"), required=True)
    parser.add_argument("--faults", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(json.dumps(inject_faults(options.how, options.faults, options.seed)))


if __name__ == "__main__":
    main()
