"""A database made by the code before answers at the limit could count: it opens, reports the same, and its jobs go on
as they began: by the first version of the one-pass formulation, and with every `limit` wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from db.engine.connection import Database
from db.queries.filters import parse_where
from db.queries.trajectories import stream_episodes
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.builds.candidates import failure_reason
from lumos_queue.commands import KEPT_DIGITS
from lumos_queue.rollouts.derivation import is_right
from tests.fake_endpoint import FakeEndpoint
from tests.integration.made_at_limit import ITEMS, JOBS, LATER, NOW, load_reports, reply, resume_job, settings_of
from tests.integration.stored_database import bring_up_to_date, jobs, make_port_replacement, open_old, read
from tests.stored_rows import read_stored_rows

MADE = Path(__file__).with_name("before_at_limit.jsonl.gz")  #: made_at_limit.py says how
ADDED = {"scoring", "formulation_version", "plugins", "reply_endings", "row_origin"}  #: what a report says since then
CUT = [project for project, (*_, cut) in JOBS.items() if cut]


@pytest.fixture
def server() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(reply) as endpoint:
        yield endpoint


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path, server) -> Iterator[Database]:
    """The old database, opened by the code of today."""
    lines = read(MADE, make_port_replacement(server.port))
    opened = open_old(request, tmp_path, "0006", [line for line in lines if line[0] not in (NOW, LATER)])
    bring_up_to_date(opened)
    yield opened
    opened.close()


def told(stage: str, port: int) -> dict[str, dict[str, Any]]:
    """What the old code reported; of digests of prompts, as much as is stored by now."""
    found = next(values for table, values in read(MADE, make_port_replacement(port)) if table == stage)
    return {
        project: one | {"asked": sorted(digest[:KEPT_DIGITS] for digest in one["asked"])}
        for project, one in found.items()
    }


def without_additions(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Leave out what reports name since then: fields, and the protocol of questions (`own`, as it always was)."""
    return {project: one | {"report": _without_additions(one["report"])} for project, one in found.items()}


def _without_additions(report: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in report.items() if name not in ADDED}
    tools = dict(kept["tools"])
    assert tools.pop("protocol", "own") == "own"
    return kept | {"tools": tools}


def test_every_report_is_the_one_that_the_code_before_gave(database, server):
    found = load_reports(database)
    assert without_additions(found) == told(NOW, server.port) and len(found) == len(JOBS)
    for project, one in found.items():
        assert one["report"]["formulation_version"] == 1 and one["report"]["scoring"]["at_limit"] == "wrong", project
        assert {version for by in one["report"]["scoring"]["versions"].values() for version in by} == {"1"}, project
    assert found["at the limit"]["report"]["endings"] == {"answered": 4, "limit": 8}


def test_jobs_that_were_cut_off_go_on_as_they_began(database, server, tmp_path):
    before = {project: read_stored_rows(database, job) for project, job in jobs(database).items()}
    later = told(LATER, server.port)
    for project in CUT:
        job = jobs(database)[project]
        resume_job(settings_of(tmp_path, database.url), job)
        ended = {place: one for place, one in before[project].items() if one["ending"]}
        now = read_stored_rows(database, job)
        assert len(now) == ITEMS and {place: now[place] for place in ended} == ended and 0 < len(ended) < ITEMS
    found = load_reports(database)
    for project, one in without_additions(found).items():
        versions = one["report"].pop("code_versions"), later[project]["report"].pop("code_versions")
        assert [sum(each["episodes"] for each in part) for part in versions] == [ITEMS, ITEMS]
        assert one == later[project], project  # its figures, and every prompt that was asked
    scoring = found["maths, half done"]["report"]["scoring"]
    assert scoring["at_limit"] == "wrong" and set(scoring["versions"]["accuracy"]) == {"1", "3"}
    concluded = text(
        "SELECT count(*) FROM execution x JOIN episode e ON e.id = x.episode WHERE e.job = :job AND x.name = 'Conclude'"
    )
    with database.engine.connect() as connection:
        for project in ("hotpotqa, half done", "strategyqa, half done"):
            assert connection.execute(concluded, {"job": jobs(database)[project]}).scalar() == ITEMS


def test_builds_and_blame_judge_its_episodes_as_they_were_judged(database):
    found = list(stream_episodes(database, parse_where("ending=limit")))
    assert len(found) > 20 and {one.at_limit for one in found} == {"wrong"}
    assert {failure_reason(one) for one in found} == {"ended limit"}
    assert not any(is_right(open_benchmark(one.task.benchmark), one) for one in found)
    assert any(one.answer == one.task.gold["answer"] for one in found)
