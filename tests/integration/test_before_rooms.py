"""A database with jobs of every kind, which the code before the move of its modules wrote.

The current code reads the same values from it, and resumes half-done jobs of all four kinds, which end as they did.
`made_before_rooms.py` made the files.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
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
    verify_rows,
)
from tests.integration.command_outputs import collect_outputs, run
from tests.integration.stored_database import bring_up_to_date, jobs, load_prompt_digests, open_old, read, write_files
from tests.scripted_models import all_at_once, step_by_step
from tests.stored_rows import state

FOLDER = Path(__file__).parent
MADE = FOLDER / "before_rooms.jsonl.gz"
OUTPUTS = FOLDER / "before_rooms_shown.json.gz"
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
    with FakeEndpoint(step_by_step) as step_server, FakeEndpoint(all_at_once) as plan_server:
        yield step_server, plan_server


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path.resolve()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def database(request, home, servers, monkeypatch) -> Iterator[Database]:
    """The old database, opened by the code of today, with the settings that the command line needs for it."""
    lines = write_files(home, read(MADE, make_replacements(home, *servers)))
    opened = open_old(request, home, "0006", lines)
    bring_up_to_date(opened)
    for name, value in make_environment(home, opened.url).items():
        monkeypatch.setenv(name, value)
    yield opened
    opened.close()


def load_outputs(stage: str) -> dict[str, Any]:
    """Return the outputs of the old code, which were the same on both databases."""
    with gzip.open(OUTPUTS, "rt", encoding="utf-8") as file:
        return json.loads(file.read())[stage]


def describe(differences: dict[str, str]) -> str:
    return "\n\n".join(f"{name}\n{description}" for name, description in list(differences.items())[:5])


@pytest.mark.long
def test_every_report_episode_query_and_build_has_the_values_of_the_old_code(database, home, servers):
    verify_rows(database)
    job_ids = jobs(database)
    before = {HEADINGS.get(name, name): output for name, output in load_outputs("now").items()}
    now = replace_locations(collect_outputs(database, home, job_ids), home, *servers)
    assert [now.pop(heading) for heading in ADDED_HEADINGS] == [[]]
    assert len(before) > 500
    differences = find_differences(before, now, [job_ids[project] for project in (*HALF_DONE, TRAINED)])
    assert not differences, describe(differences)


def test_a_number_that_differs_is_a_difference_of_its_output():
    before = load_outputs("now") | load_outputs("later")
    names = {
        name for name, output in before.items() if not isinstance(output, str) and add_to_numbers(output, 1) != output
    }
    assert len(names) > 300
    assert names <= find_differences(before, add_to_numbers(before, 1)).keys()


def add_to_numbers(value: Any, addend: float) -> Any:
    """Return the value with `addend` added to every number, at any depth."""
    if isinstance(value, dict):
        return {name: add_to_numbers(part, addend) for name, part in value.items()}
    if isinstance(value, list):
        return [add_to_numbers(part, addend) for part in value]
    return value + addend if isinstance(value, int | float) and not isinstance(value, bool) else value


@pytest.mark.long
def test_half_done_jobs_end_with_the_values_of_the_old_code(database, home, servers):
    for project in HALF_DONE:
        resume_job(jobs(database)[project])
    later = load_outputs("later")
    before = {name: output for name, output in later.items() if not name.startswith(TRAINED)}
    assert len(before) == len(later) - 2
    now = replace_locations(load_finished_jobs(database), home, *servers)
    assert all(before[f"{project}: rows"]["episode"] for project in HALF_DONE)
    differences = find_differences(before, now)
    assert not differences, describe(differences)


@pytest.mark.parametrize("project", HALF_DONE)
def test_a_half_done_job_resumes_without_repeating_a_call(database, home, servers, project):
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
    output = run("resume", job)
    assert output.startswith("exit code 3") and "an engine that this version no longer has: submit it again" in output
    assert state(database, job) == "failed" and done_windows(database, job) == outputs


def all_items(database: Database, job: str) -> int:
    with database.engine.connect() as connection:
        return connection.execute(text("SELECT count(*) FROM item WHERE job = :job"), {"job": job}).scalar_one()


def done_items(database: Database, job: str) -> dict[int, tuple]:
    """Return the claim and the episode of each finished item, by its ordinal."""
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
