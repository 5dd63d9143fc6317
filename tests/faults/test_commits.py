"""Short forms of the strikes at chosen calls of the database driver. All of them: `make faults`."""

from __future__ import annotations

import pytest

from tests.faults.commits import kill_backend, kill_on_sqlite, quit_on_postgresql


@pytest.mark.long
def test_the_backend_is_killed_in_commit(lab):
    assert kill_backend(lab, faults=20).problems == []


@pytest.mark.long
def test_quit_in_the_commit_path_on_postgresql(lab):
    assert quit_on_postgresql(lab, faults=30).problems == []


def test_killed_in_the_commit_path_on_sqlite(lab):
    assert kill_on_sqlite(lab, faults=20).problems == []
