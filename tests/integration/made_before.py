"""Make `before_0006.jsonl.gz`: half-done jobs in a database of the code before revision 0006.

    git worktree add BEFORE 81633cf
    cd BEFORE && PYTHONPATH=. python …/tests/integration/made_before.py …/tests/integration/before_0006.jsonl.gz

It runs that code, kills it, and writes all rows of its SQLite database as JSON lines. The jobs are of wordmath: a job
that was killed in mid-work (some episodes are finished, some half recorded, some not started; its dead process still
holds items), a paused job, a cancelled job, a job with episodes that ended as infra_error, and a job with an item in
quarantine. The model server's port is written as PORT.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
import tempfile
import threading
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, select, text, update

from db.engine.connection import Database, now, open_database
from db.engine.migrate import upgrade
from db.models import Heartbeat
from db.queries.jobs import get_job
from db.queue.batch import Batch
from db.queue.claims import ClaimRequest, LeaseHolder
from db.queue.commit import commit
from db.queue.fence import reap, start_session
from db.queue.job_changes import cancel, pause
from db.queue.quarantine import DEATHS
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from lumos_queue.util.version import code_version
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

ITEMS = 12
PROJECTS = ("killed", "paused", "cancelled", "refused", "deadly")


def make(settings: Settings, server: FakeEndpoint, failures: list[str]) -> Database:
    database = open_database(settings.database)
    upgrade(database)
    rows = read_rows(open_benchmark("wordmath"), None, "dev", False, sample=lambda tasks: tasks[:ITEMS])
    agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
    for seed, project in enumerate(PROJECTS):
        limit = 1 if project == "deadly" else ITEMS
        job = Evaluate(Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=limit, seed=seed))
        identifier, _ = submit(database, settings.model_copy(update={"project": project}), job, rows)
        match project:
            case "killed":
                work_and_die(settings, database, identifier)
            case "paused":
                work_until(settings, database, identifier, 4, pause)
            case "cancelled":
                work_until(settings, database, identifier, 4, cancel)
            case "refused":
                server.failures.extend(failures)
                work_until(settings, database, identifier, ITEMS + 1)
            case "deadly":
                die_of_one_item(database, identifier)
    return database


def count_done(database: Database, job: str) -> int:
    with database.engine.connect() as connection:
        return connection.execute(
            text("SELECT count(*) FROM item WHERE job = :job AND state = 'done'"), {"job": job}
        ).scalar_one()


def count_half_recorded(database: Database, job: str) -> int:
    """Count the episodes without a result that have stored calls."""
    query = text(
        "SELECT count(DISTINCT e.id) FROM episode e JOIN completion c ON c.episode = e.id "
        "WHERE e.job = :job AND e.ending = ''"
    )
    with database.engine.connect() as connection:
        return connection.execute(query, {"job": job}).scalar_one()


def work_and_die(settings: Settings, database: Database, job: str) -> None:
    pid = os.fork()
    if not pid:
        Dispatcher(WorkerContext(Deployment(settings)), ["llm"], only=job).run(lambda: False)
        os._exit(0)
    while count_done(database, job) < 4 or count_half_recorded(database, job) < 3:
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def work_until(settings: Settings, database: Database, job: str, items: int, then: Any = None) -> None:
    """Work until the job is over. When so many items are done, call `then` on it, and the worker notices."""
    is_changed = False

    def change() -> bool:
        nonlocal is_changed
        if then and not is_changed and count_done(database, job) >= items:
            then(database, job)
            is_changed = True
        return False

    process = WorkerContext(Deployment(settings))
    over = threading.Event()
    watcher = threading.Thread(target=lambda: [change() for _ in iter(lambda: over.wait(0.02), True)])
    watcher.start()
    Dispatcher(process, ["llm"], only=job).run(lambda: False)
    over.set()
    watcher.join()
    process.close()


def die_of_one_item(database: Database, job: str) -> None:
    for _ in range(DEATHS):
        with database.engine.connect() as connection:
            who = LeaseHolder(start_session(database, code_version()), code_version(), get_job(connection, job))
        assert len(commit(database, who, Batch({}), ClaimRequest(1))) == 1
        with database.writer.begin() as connection:
            connection.execute(update(Heartbeat).where(Heartbeat.session == who.session).values(at=now() - 100))
        reap(database, start_session(database, code_version()), 15)


def dump(database: Database, port: int) -> bytes:
    """Return a line for each row: table, and values by column; bytes as base64 under the name `base64`."""
    tables, lines = MetaData(), []
    with database.engine.connect() as connection:
        tables.reflect(connection)
        for table in tables.sorted_tables:
            if table.name != "alembic_version":
                lines += [
                    json.dumps([table.name, {name: encode_bytes(value) for name, value in row.items()}])
                    for row in connection.execute(select(table)).mappings()
                ]
    return "\n".join(lines).replace(f"127.0.0.1:{port}", "127.0.0.1:PORT").encode()


def encode_bytes(value: Any) -> Any:
    return {"base64": b64encode(value).decode()} if isinstance(value, bytes) else value


def main() -> None:
    benchmark = open_benchmark("wordmath")
    tasks = list(benchmark.read(None, "dev"))[:ITEMS]
    with (
        tempfile.TemporaryDirectory() as folder,
        FakeEndpoint(from_mapping(gold_replies(benchmark, tasks, "iterative")), latency=0.1) as server,
    ):
        settings = Settings(home=Path(folder), concurrency=4, user="somebody", heartbeat_seconds=0.1)
        database = make(settings, server, ["404", "ok", "ok", "403"])
        with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as file:
            file.write(dump(database, server.port))
        database.close()


if __name__ == "__main__":
    main()
