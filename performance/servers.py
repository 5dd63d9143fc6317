"""Private Redis and PostgreSQL for a measurement: those that the tests start, but as durable as in production."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import psycopg
import pytest

from tests.services import Postgres, Redis, start_postgres, start_redis


class Unavailable(Exception):
    """Raised when a server that a measurement needs cannot be started here; says why."""


@dataclass(frozen=True, slots=True)
class Servers:
    redis: Redis
    postgres: Postgres

    @property
    def pids(self) -> tuple[int, int]:
        """The root of each server's process tree."""
        assert self.redis.process
        return self.redis.process.pid, self.postmaster

    @property
    def postmaster(self) -> int:
        """The process id of PostgreSQL's first process."""
        address = self.postgres.url("postgres").replace("+psycopg", "", 1)
        with psycopg.connect(address) as connection:
            row = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
            assert row
            return int(row[0].split()[0])


@contextmanager
def start_servers() -> Iterator[Servers]:
    """Raises Unavailable when one of them is not installed."""
    with ExitStack() as stack:
        try:
            redis = stack.enter_context(start_redis())
            postgres = stack.enter_context(start_postgres())
        except (pytest.skip.Exception, pytest.fail.Exception) as reason:
            raise Unavailable(str(reason)) from None
        for name in ("fsync", "autovacuum"):  # the tests' server goes without
            postgres.execute(f"ALTER SYSTEM SET {name} = on")
        postgres.execute("SELECT pg_reload_conf()")
        yield Servers(redis, postgres)
