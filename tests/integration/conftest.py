"""Both databases for tests of what the queue stores."""

from __future__ import annotations

import pytest

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from lumos_queue.settings import Settings


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "sqlite":
        test_database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
        upgrade(test_database)
    else:
        test_database = open_database(Settings(database_url=request.getfixturevalue("postgres_url")).database)
    yield test_database
    test_database.close()
