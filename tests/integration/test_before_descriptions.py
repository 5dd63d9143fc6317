"""A database made by the code before formulation version 4, with half-done jobs of tool agents.

Their functions have descriptions of tools and arguments, which version 3 did not show. The jobs resume with the prompts
of version 3: each request is as in an uninterrupted run. made_before_readers.py says how the database was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from db.engine.connection import Database
from db.queries.jobs import get_job
from lumos_queue.formulations.base import version_of
from tests.integration.before_readers import DESCRIBED_CASES, Server
from tests.integration.stored_database import jobs
from tests.integration.test_before_readers import open_with_settings, read_expected, resume_and_compare

MADE = Path(__file__).with_name("before_descriptions.jsonl.gz")
REVISION = "0022"  #: of the database in the file


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as endpoint:
        yield endpoint


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path, server, monkeypatch) -> Iterator[Database]:
    """The old database, opened by the code of today."""
    with open_with_settings(request, tmp_path, server, monkeypatch, MADE, REVISION) as opened:
        yield opened


def test_half_done_jobs_of_version_3_resume_with_their_prompts(database, server):
    expected = read_expected(server, MADE)
    with database.engine.connect() as connection:
        assert {version_of(get_job(connection, job).spec) for job in jobs(database).values()} == {3}
    requests = [str(request) for values in expected.values() for request in values["missing"]]
    assert requests and not any("as written" in request or "Tracks parcels." in request for request in requests)
    problems = [
        f"{project}: {problem[:1500]}"
        for project, case in DESCRIBED_CASES.items()
        for problem in resume_and_compare(database, server, project, expected[project], case)
    ]
    assert not problems, "\n\n".join(problems)
