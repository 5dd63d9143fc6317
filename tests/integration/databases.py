"""Choose the databases of tests with the fixture `database`, and copy databases that are made once."""

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

#: For tests of commands, pages or reports whose queries other tests run on PostgreSQL.
sqlite_only = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


class Originals:
    """Databases that are made once for a module; each test gets a copy."""

    def __init__(self, request: pytest.FixtureRequest, make: Callable[[Path, str], str]):
        """`make(folder, url)` makes a database, closes it and returns a description for the tests, such as a job's id.

        Without a URL the database is the file lumos.db in the folder.
        """
        self._request, self._make = request, make
        self._originals: dict[str, tuple[Path, str, str]] = {}

    def copy(self, kind: str, folder: Path) -> tuple[str, str]:
        """Return the URL of a new copy of this kind (sqlite or postgresql), and the description."""
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
    """Return a `make` for `Originals` that converts so many rows; the description is the id of the job."""

    def convert(folder: Path, url: str) -> str:
        rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
        database, job = run_embedded(folder, Convert("wordmath", rows.digest, "dev", limit=limit), rows, url)
        database.close()
        return job

    return convert
