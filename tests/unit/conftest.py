"""Fixtures for tests of parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty SQLite database of the current revision."""
    file_database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    upgrade(file_database)
    yield file_database
    file_database.close()
