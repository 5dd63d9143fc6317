"""A database made by the code before formulation version 3, with half-done jobs of every formulation.

Models of these jobs reply with reasoning, mark-up and several lines, which version 3 reads otherwise. The jobs resume
with the prompts, the stop strings and the readers of version 2: no episode has a second attempt, no recorded call is
repeated, and every episode ends as in an uninterrupted run. made_before_readers.py says how the database was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from db.engine.connection import Database
from tests.integration.before_readers import (
    CASES,
    EXPECTED,
    Case,
    Server,
    count_calls,
    count_requests,
    load_episodes,
    make_environment,
    resume_job,
)
from tests.integration.stored_database import bring_up_to_date, jobs, make_port_replacement, open_old, read
from tests.stored_rows import state

MADE = Path(__file__).with_name("before_readers.jsonl.gz")
REVISION = "0019"  #: of the database in the file
HALF_DONE = [project for project, case in CASES.items() if not case.whole]
SCHEMES = ("tgi", "openai", "chat")
GROUPS = {
    **{scheme: [name for name in HALF_DONE if name.endswith(f" over {scheme}")] for scheme in SCHEMES},
    "others": [name for name in HALF_DONE if " over " not in name],
}
SINGLE_CALL = ("cot", "direct", "caption", "model-synthesis")  #: no episode of these can be half done


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as endpoint:
        yield endpoint


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path, server, monkeypatch) -> Iterator[Database]:
    """The old database, opened by the code of today."""
    with open_with_settings(request, tmp_path, server, monkeypatch, MADE, REVISION) as opened:
        yield opened


@contextmanager
def open_with_settings(
    request: Any, folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch, made: Path, revision: str
) -> Iterator[Database]:
    """Open the old database in the file `made`, and set what the command line needs for it."""
    lines = [line for line in read(made, make_port_replacement(server.port)) if line[0] != EXPECTED]
    opened = open_old(request, folder, revision, lines)
    bring_up_to_date(opened)
    for name, value in make_environment(folder, opened.url).items():
        monkeypatch.setenv(name, value)
    yield opened
    opened.close()


def read_expected(server: Server, made: Path = MADE) -> dict[str, dict[str, Any]]:
    """By project: the episodes of the uninterrupted run, and the requests that were not answered before the kill."""
    return {
        values["project"]: values
        for table, values in read(made, make_port_replacement(server.port))
        if table == EXPECTED
    }


def compare_episodes(expected: dict[str, Any], current: dict[str, Any]) -> Iterator[str]:
    """How the episodes of a job differ. Metrics that were added since are left out."""
    if expected.keys() != current.keys():
        yield f"items {sorted(current)}, not {sorted(expected)}"
    for ordinal, episode in expected.items():
        for name, value in episode.items():
            now = current[ordinal][name]
            if name == "scores":
                now = {metric: now.get(metric) for metric in value}
            if now != value:
                yield f"item {ordinal}: {name} is {now!r}, not {value!r}"


def compare_requests(expected: list[Any], server: Server) -> Iterator[str]:
    """How what the server was sent differs from what it had to be sent."""
    missing, sent = count_requests(expected), count_requests(server.requests)
    for request in (missing - sent).elements():
        yield f"not sent: {request}"
    for request in (sent - missing).elements():
        yield f"sent, and not expected: {request}"


def resume_and_compare(
    database: Database, server: Server, project: str, expected: dict[str, Any], case: Case
) -> Iterator[str]:
    """Go on with a half-done job to its end, and yield what is not as without a stop."""
    job = jobs(database)[project]
    server.begin(case)
    recorded = count_calls(database, job)
    resume_job(job)
    if (now := state(database, job)) != "done":
        yield f"the job is {now}"
    yield from compare_requests(expected["missing"], server)
    yield from compare_episodes(expected["episodes"], load_episodes(database, job))
    if (calls := count_calls(database, job)) != recorded + len(server.requests):
        yield f"{calls} calls are recorded after {recorded} and {len(server.requests)} more"
    with database.engine.connect() as connection:
        attempts = text("SELECT max(a.number) FROM attempt a JOIN episode e ON e.id = a.episode WHERE e.job = :job")
        if (attempt := connection.execute(attempts, {"job": job}).scalar()) != 1:
            yield f"attempt {attempt}"


@pytest.mark.parametrize("group", GROUPS)
def test_half_done_jobs_end_as_without_a_stop_and_repeat_no_call(database, server, group):
    expected = read_expected(server)
    problems = [
        f"{project}: {problem[:1500]}"
        for project in GROUPS[group]
        for problem in resume_and_compare(database, server, project, expected[project], CASES[project])
    ]
    assert not problems, "\n\n".join(problems)


def test_each_job_has_finished_half_done_and_untouched_items():
    lines = [line for line in read(MADE) if line[0] != EXPECTED]
    projects = {row["id"]: row["project"] for table, row in lines if table == "job"}
    called = {row["episode"] for table, row in lines if table == "completion"}
    ended = {row["id"] for table, row in lines if table == "episode" and row["ending"]}
    items: dict[str, list[str]] = {project: [] for project in projects.values()}
    for table, row in lines:
        if table == "item":
            kind = "finished" if row["id"] in ended else "half done" if row["id"] in called else "untouched"
            items[projects[row["job"]]].append(kind)
    assert sorted(projects.values()) == sorted(CASES)
    for project in HALF_DONE:
        possible = {"finished", "untouched"} | (set() if project.startswith(SINGLE_CALL) else {"half done"})
        assert set(items[project]) == possible, project
    formulations = {row["formulation"] for table, row in lines if table == "job"}
    assert {
        "iterative",
        "one-pass",
        "cot",
        "direct",
        "integrated",
        "caption",
        "react",
        "dfsdt",
        "rewoo",
        "sum2act",
        "model-synthesis",
        "open-ended",
        "tooleval",
        "teacher-forced",
    } <= formulations
