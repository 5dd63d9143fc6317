"""A row of `job` that other code has written: lists show it as damaged; a command that names it ends with one line."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import text

from db.engine.connection import open_database
from db.engine.lease import Lease
from db.models import JobRow
from db.queries.damage import DamagedJob, find_damage
from db.queries.filters import parse_job_where
from db.queries.jobs import find_job, get_job
from lumos_queue.reports.job_list import find_jobs, list_jobs
from tests.claims import new_job
from tests.stored_rows import make_tables

DAMAGED = "zzzzzzzz"
SPECS = [
    "[]",
    "null",
    "5",
    '"x"',
    "true",
    "not JSON",
    '{"a"',
    "[" * 5000,
    "[" * 500 + "]" * 500,
    '{"infer": []}',
    '{"infer": {"agent": []}}',
    '{"infer": {"agent": {"roles": []}}}',
    '{"infer": {"agent": {"roles": {"solver": 5}}}}',
    '{"infer": {"samples": "x"}}',
    '{"recipe": []}',
]
COLUMNS = [
    ("items", "abc"),
    ("items", -5),
    ("state", "nonsense"),
    ("state", ""),
    ("pool", "x"),
    ("origin", "nonsense"),
    ("name", b"\xff"),
    ("created_at", "abc"),
    ("created_at", float("inf")),
    ("waiting", b"x"),
    ("plugins", '["x"]'),
    ("chosen", "no such=filter"),
    ("kind", b"x"),
    ("waits", -1),
    ("plugins", "{bad"),
]
COMMANDS = [("job",), ("report",), ("resume",), ("rerun",), ("episodes",), ("tag", "a=b"), ("show",)]


def damage(database, good: str, column: str, value: object) -> None:
    """Store a copy of a job's row with another value in a column, as another program could."""
    names = [one.name for one in JobRow.__table__.columns]
    copied = ", ".join({"id": f"'{DAMAGED}'", "digest": "'0'", column: ":value"}.get(name, name) for name in names)
    with database.writer.begin() as connection:
        connection.execute(
            text(f"INSERT INTO job ({', '.join(names)}) SELECT {copied} FROM job WHERE id = :good"),
            {"value": value, "good": good},
        )


@pytest.fixture
def stored(lumos):
    """A good job in the home of the command."""
    lumos.home.mkdir()
    make_tables(lumos.home)
    database = open_database(f"sqlite:///{lumos.home / 'lumos.db'}")
    yield database, new_job(database)
    database.close()


@pytest.mark.parametrize(("column", "value"), [*(("spec", spec) for spec in SPECS), *COLUMNS])
def test_lists_show_it_as_damaged_and_commands_that_name_it_end_with_one_line(lumos, stored, column, value):
    database, good = stored
    damage(database, good, column, value)
    listed = {job["job"]: job for job in lumos("jobs", "--json").json["jobs"]}
    assert listed[DAMAGED]["real_state"] == "damaged" and column in listed[DAMAGED]["reason"]
    assert listed[good]["real_state"] != "damaged"
    lumos.set(COLUMNS=400)
    ran = lumos("jobs")
    assert ran.code == 0 and good in ran.out and f"damaged: its {column}" in ran.out
    for arguments in (("jobs", "--where", "model=x"), ("episodes",), ("workers",), ("doctor",), ("endpoints",)):
        assert lumos(*arguments).code == 0, arguments
    assert lumos("job", good).code == 0
    for command, *rest in COMMANDS:
        ran = lumos(command, f"{DAMAGED}-0" if command == "show" else DAMAGED, *rest)
        assert ran.code == 2 and len(ran.err.splitlines()) == 1, (command, ran.err)
        assert ran.err.startswith(f"lumos: Job {DAMAGED} is damaged: its {column}"), ran.err


@pytest.mark.parametrize("spec", ["{}", '{"infer": {}}', '{"infer": {"agent": {}}}'])
def test_a_request_with_gaps_is_listed_and_a_report_of_it_is_one_line(lumos, stored, spec):
    database, good = stored
    damage(database, good, "spec", spec)
    assert DAMAGED in lumos("jobs").out
    ran = lumos("report", DAMAGED)
    assert ran.code == 2 and ran.err.startswith(f"lumos: Job {DAMAGED} is damaged: its spec"), ran.err


def test_it_can_be_cancelled_and_removed(lumos, stored):
    database, good = stored
    damage(database, good, "spec", "[]")
    assert lumos("cancel", DAMAGED).code == 0
    assert lumos("rm", DAMAGED, "--yes").code == 0
    with database.engine.connect() as connection:
        assert find_job(connection, DAMAGED) is None and find_job(connection, good)


def test_a_filter_chooses_it_by_its_state_and_never_for_a_command(stored):
    database, good = stored
    damage(database, good, "spec", "[]")
    with database.engine.connect() as connection:
        (job,), _ = list_jobs(connection, parse_job_where("state=damaged"), 5, Lease(15.0))
        assert job.job == DAMAGED
        assert find_jobs(connection, parse_job_where("benchmark=wordmath"), Lease(15.0)) == [good]
        with pytest.raises(DamagedJob, match="its spec is a list, expected an object"):
            get_job(connection, DAMAGED)
        assert find_damage(get_job(connection, DAMAGED, allow_damaged=True))


def test_on_postgresql_json_of_another_shape_is_damaged_too(postgres_url):
    database = open_database(postgres_url)
    good = new_job(database)
    with database.writer.begin() as connection:
        deep = json.dumps("x")
        for _ in range(1200):
            deep = f"[{deep}]"
        connection.execute(text("UPDATE job SET spec = CAST(:spec AS json) WHERE id = :id"), {"spec": deep, "id": good})
    other = new_job(database, digest="cd" * 32)
    with database.engine.connect() as connection:
        listed, _ = list_jobs(connection, parse_job_where(""), 5, Lease(15.0))
    database.close()
    assert {job.job: job.real_state == "damaged" for job in listed} == {good: True, other: False}


def test_tags_and_endpoints_that_are_no_texts_hide_nothing(lumos, stored):
    database, good = stored
    with database.writer.begin() as connection:
        connection.execute(text("INSERT INTO job_tag VALUES (:job, :key, :key)"), {"job": good, "key": b"\xff"})
        for identity in ("[]", "{bad"):
            connection.execute(
                text("INSERT INTO job_endpoint (job, role, url, identity, seen_at) VALUES (:job, 'x', 'y', :said, 1)"),
                {"job": good, "said": identity},
            )
    assert lumos("jobs", "--json").json["jobs"][0]["tags"] == {"damaged": "damaged"}
    assert good in lumos("jobs").out and lumos("job", good).code == 0


@pytest.mark.parametrize("column", ["name", "spec", "formulation", "tags"])
def test_a_text_that_is_no_text_fails_nothing_else(lumos, stored, column):
    database, good = stored
    bad = "CAST(X'FF41' AS TEXT)"
    with database.writer.begin() as connection:
        if column == "tags":
            connection.execute(text("INSERT INTO job_tag VALUES (:good, 'team', " + bad + ")"), {"good": good})
        else:
            connection.execute(text(f"UPDATE job SET {column} = {bad} WHERE id = :good"), {"good": good})
    other = new_job(database, digest="cd" * 32)
    listed = lumos("jobs", "--json")
    assert listed.code == 0 and {good, other} <= {job["job"] for job in json.loads(listed.out)["jobs"]}
