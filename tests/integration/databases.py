"""On which databases a test runs that takes the fixture `database`: on both, unless it is marked."""

from __future__ import annotations

import pytest

#: For what reaches the database through commands, pages or reports, whose queries other tests run on PostgreSQL.
sqlite_only = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
#: For one whole path of an area whose other tests run on SQLite.
postgresql_only = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
