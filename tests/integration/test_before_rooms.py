"""A database with something of everything, made by the code before its modules were moved: it reads as it did, and the
half-done jobs of all four kinds go on and end as they would have. made_before_rooms.py says how it was made.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from sqlalchemy import text

from db.engine.connection import Database
from tests.fake_endpoint import FakeEndpoint
from tests.integration.before_rooms import (
    HALF_DONE,
    TRAINED,
    find_differences,
    load_finished_jobs,
    make_environment,
    make_replacements,
    replace_locations,
    resume_job,
)
from tests.integration.command_outputs import collect_outputs, run
from tests.integration.stored_database import bring_up_to_date, jobs, load_prompt_digests, open_old, read, write_files
from tests.scripted_models import all_at_once, step_by_step
from tests.stored_rows import state

FOLDER = Path(__file__).parent
MADE = FOLDER / "before_rooms.jsonl.gz"
SHOWN = FOLDER / "before_rooms_shown.json.gz"
#: Headings of docs/queries.md that have changed since: what one was, and what it is.
HEADINGS = {
    "Accuracy of each job, with what an interval needs": "Accuracy of each job, with the numbers for an interval",
    "The commonest errors of actions": "The most frequent errors of actions",
    "Tasks solved in some tries and not in others": "Tasks solved in some samples and not in others",
    "Episodes with a subgoal that speaks of something": "Episodes with a subgoal that mentions something",
    "What the filters found in each source's annotations": "Verdicts of the filters on each source's annotations",
    "A text, wherever it stands": "A text, anywhere",
}
#: Headings of docs/queries.md that were added since: they read tables in which jobs of before have no rows.
ADDED_HEADINGS = ("What each optimizer step learnt from, and how its rollouts ended",)


@pytest.fixture
def servers() -> Iterator[tuple[FakeEndpoint, FakeEndpoint]]:
    with FakeEndpoint(step_by_step) as one, FakeEndpoint(all_at_once) as other:
        yield one, other


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder with a short name, as where the files were made: tables are as wide as the paths in them."""
    with TemporaryDirectory() as folder:
        yield Path(folder).resolve()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def database(request, home, servers, monkeypatch) -> Iterator[Database]:
    """The old database, opened by the code of today, with the settings that the command line needs for it."""
    lines = write_files(home, read(MADE, make_replacements(home, *servers)))
    opened = open_old(request, home, "0006", lines)
    bring_up_to_date(opened)
    for name, value in make_environment(home, opened.url).items():
        monkeypatch.setenv(name, value)
    # What reports tell of several samples was added since (tests/unit/test_samples.py).
    monkeypatch.setattr("lumos_queue.reports.report.sample_figures", lambda *_: None)
    yield opened
    opened.close()


def shown_before(stage: str) -> dict[str, Any]:
    """What the old code showed, which was the same on both databases."""
    with gzip.open(SHOWN, "rt", encoding="utf-8") as file:
        return json.loads(file.read())[stage]


def told(different: dict[str, str]) -> str:
    return "\n\n".join(f"{name}\n{how}" for name, how in list(different.items())[:5])


@pytest.mark.long
def test_every_report_episode_query_and_build_is_as_it_was(database, home, servers):
    found = jobs(database)
    before = {HEADINGS.get(name, name): shown for name, shown in shown_before("now").items()}
    now = replace_locations(collect_outputs(database, home, found), home, *servers)
    assert [now.pop(heading) for heading in ADDED_HEADINGS] == [[]]
    assert len(before) > 500
    different = find_differences(before, now, [found[project] for project in (*HALF_DONE, TRAINED)])
    assert not different, told(different)


@pytest.mark.long
def test_half_done_jobs_end_as_they_would_have_ended(database, home, servers):
    for project in HALF_DONE:
        resume_job(jobs(database)[project])
    later = shown_before("later")
    before = {name: shown for name, shown in later.items() if not name.startswith(TRAINED)}
    assert len(before) == len(later) - 2
    now = replace_locations(load_finished_jobs(database), home, *servers)
    assert all(before[f"{project}: rows"]["episode"] for project in HALF_DONE)
    different = find_differences(before, now)
    assert not different, told(different)


@pytest.mark.parametrize("project", HALF_DONE)
def test_a_half_done_job_goes_on_without_repeating_anything(database, home, servers, project):
    job = jobs(database)[project]
    recorded, items = load_prompt_digests(database, job), done_items(database, job)
    assert state(database, job) == "running" and 0 < len(items) < all_items(database, job)
    resume_job(job)
    assert state(database, job) == "done"
    calls = Counter(call["sha256"] for server in servers for call in server.calls)
    # Each call is stored once, and so is each recorded call.
    assert len(load_prompt_digests(database, job)) == len(recorded) + calls.total()
    if not project.startswith("convert"):  # a chat is not shown the prompt as it is recorded
        assert Counter(load_prompt_digests(database, job)) == Counter(recorded) + calls
    after = done_items(database, job)
    assert {ordinal: after[ordinal] for ordinal in items} == items  # nor done, nor begun again
    with database.engine.connect() as connection:
        attempts = text("SELECT max(a.number) FROM attempt a JOIN episode e ON e.id = a.episode WHERE e.job = :job")
        assert connection.execute(attempts, {"job": job}).scalar() in (1, None)
    assert recorded and calls


def test_a_half_done_fit_of_the_former_engine_fails_and_keeps_what_it_has(database):
    job = jobs(database)[TRAINED]
    outputs = done_windows(database, job)
    assert state(database, job) == "running" and len(outputs) == 2
    told = run("resume", job)
    assert told.startswith("exit code 3") and "an engine that this version no longer has: submit it again" in told
    assert state(database, job) == "failed" and done_windows(database, job) == outputs


def all_items(database: Database, job: str) -> int:
    with database.engine.connect() as connection:
        return connection.execute(text("SELECT count(*) FROM item WHERE job = :job"), {"job": job}).scalar_one()


def done_items(database: Database, job: str) -> dict[int, tuple]:
    """By place in the job: what a finished item says of its claims and its episode."""
    query = text(
        "SELECT i.ordinal, i.claim, e.attempt, e.ending, e.answer, e.finished_at FROM item i "
        "LEFT JOIN episode e ON e.id = i.id WHERE i.job = :job AND i.state = 'done'"
    )
    with database.engine.connect() as connection:
        return {row[0]: tuple(row[1:]) for row in connection.execute(query, {"job": job})}


def done_windows(database: Database, job: str) -> dict[int, Any]:
    query = text("SELECT ordinal, output FROM item WHERE job = :job AND state = 'done'")
    with database.engine.connect() as connection:
        return {row[0]: row[1] for row in connection.execute(query, {"job": job})}
