"""A disk that is full for a while: the database is on a small separate file system (a tmpfs; needs root)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.faults.deployment import LEASE, Deployment
from tests.faults.lab import Lab, case
from tests.faults.result import Result


@case("disk full, SQLite")
def full_disk_on_sqlite(lab: Lab, episodes: int = 300, seconds: float = 2 * LEASE) -> Result:
    with small_disk() as disk:
        return _fill(lab.deployment(f"sqlite:///{disk / 'lumos.db'}", episodes=episodes), disk, seconds)


@case("disk full, PostgreSQL")
def full_disk_on_postgresql(lab: Lab, episodes: int = 300, seconds: float = 2 * LEASE) -> Result:
    """Only its tables are on the small disk: the server would end if its write-ahead log could not grow."""
    server = lab.server("postgres")
    with small_disk() as disk:
        folder = disk / "tables"
        folder.mkdir()
        with suppress(LookupError):
            shutil.chown(folder, "pgserver")
        space = f"space_{disk.name.replace('-', '_').lower()}"
        server.execute(f"CREATE TABLESPACE {space} LOCATION '{folder}'")
        server.execute(f"CREATE DATABASE {space} TEMPLATE migrated TABLESPACE {space}")
        try:
            return _fill(lab.deployment(server.url(space), episodes=episodes), disk, seconds)
        finally:
            server.execute(f"DROP DATABASE {space} WITH (FORCE)")
            server.execute(f"DROP TABLESPACE {space}")


@contextmanager
def small_disk(megabytes: int = 64) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lumos-disk-", dir="/tmp"))
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=755", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode:
        folder.rmdir()
        pytest.skip("may not mount a tmpfs: run as root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def _fill(deployment: Deployment, disk: Path, seconds: float) -> Result:
    with deployment:
        deployment.start("dispatcher", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(20)
        ballast = disk / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        deployment.wait(lambda: any(map(_has_noticed, deployment.groups)), "a worker notices", 30)
        time.sleep(seconds)
        ballast.unlink()
        deployment.end_fault()
        deployment.deaths += 2  # neither process could report
        deployment.wait_for_jobs()
        return deployment.result(bound=deployment.estimate_wasted(2) + deployment.estimate_unwritten(2))


def _has_noticed(group) -> bool:
    return any(group.has_logged(text) for text in ("disk is full", "No space left", "disk I/O error"))
