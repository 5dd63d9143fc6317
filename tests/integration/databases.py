"""On which databases a test runs that takes the fixture `database`, and copies of databases that are made once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.convert import Convert
from lumos_queue.submission.store import read_rows
from tests.services import Postgres
from tests.stored_rows import run_embedded

#: For what reaches the database through commands, pages or reports, whose queries other tests run on PostgreSQL.
sqlite_only = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


class Originals:
    """Databases that are made once for a module, of which each test gets a copy."""

    def __init__(self, request: pytest.FixtureRequest, make: Callable[[Path, str], str]):
        """`make(folder, url)` makes one, closes it and returns what the tests are to know of it.

        Without a URL it is the file lumos.db in the folder.
        """
        self._request, self._make = request, make
        self._originals: dict[str, tuple[Path, str, str]] = {}

    def copy(self, kind: str, folder: Path) -> tuple[str, str]:
        """The URL of a new database of this kind (sqlite or postgresql), and what is to be known of it."""
        if kind not in self._originals:
            original = self._request.getfixturevalue("tmp_path_factory").mktemp(kind)
            url = "" if kind == "sqlite" else self._server.fresh()
            self._originals[kind] = original, url, self._make(original, url)
        original, url, description = self._originals[kind]
        if kind == "postgresql":
            return self._server.fresh(make_url(url).database or ""), description
        folder.mkdir(exist_ok=True)
        for file in original.glob("lumos.db*"):
            shutil.copy(file, folder)
        return f"sqlite:///{folder / 'lumos.db'}", description

    @property
    def _server(self) -> Postgres:
        return self._request.getfixturevalue("postgres_server")


def convert_wordmath(limit: int) -> Callable[[Path, str], str]:
    """Make databases, for `Originals`, of a conversion of so many rows; each test is given the id of the job."""

    def convert(folder: Path, url: str) -> str:
        rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
        database, job = run_embedded(folder, Convert("wordmath", rows.digest, "dev", limit=limit), rows, url)
        database.close()
        return job

    return convert
