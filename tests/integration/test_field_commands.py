"""`--by FIELD` of `lumos report` and `lumos compare`, and fields in Python: what a person sees."""

from __future__ import annotations

import re

import pytest

import lumos_queue as lq
from db.engine.connection import open_database
from db.engine.migrate import upgrade
from lumos_queue.settings import Settings
from tests.field_jobs import job_by_topic, tasks_with
from tests.scored_jobs import create_scored_job

HOSTILE = "<b>bold</b> [red]x[/red]\x1b[2J\u202e\nline " + "long " * 40


@pytest.fixture
def stored(lumos):
    lumos.set(COLUMNS=80)
    database = open_database(Settings(home=lumos.home).database)
    upgrade(database)
    yield database
    database.close()


@pytest.fixture
def jobs(stored) -> tuple[str, str]:
    topics = ["algebra"] * 12 + ["sets"] * 8 + [HOSTILE] * 3 + [None] * 2
    return (
        job_by_topic(stored, topics, [0] * 25),
        job_by_topic(stored, topics, [1] * 11 + [0] * 14, endpoint="tgi://two:1"),
    )


def test_a_report_by_fields_fits_into_eighty_columns(lumos, jobs):
    result = lumos("report", *jobs, "--by", "topic")
    assert result.code == 0 and all(len(line) <= 80 for line in result.lines)
    assert "\x1b" not in result.out and "\u202e" not in result.out
    _, other = jobs
    table = result.out.split(f"{other} two:1 by topic: accuracy")[1]
    rows = [line.strip() for line in table.splitlines() if re.search(r"\d", line)]
    assert [row.split()[0] for row in rows[:4]] == ["algebra", "sets", "<b>bold</b>", "(none)"]
    assert re.search(r"algebra +12 +91\.7 % \[64\.6, 98\.5\]", rows[0])


def test_a_comparison_by_fields_fits_into_eighty_columns(lumos, jobs):
    result = lumos("compare", *jobs, "--by", "topic", "--list", "0")
    assert result.code == 0 and all(len(line) <= 80 for line in result.lines)
    assert "\x1b" not in result.out
    assert re.search(r"algebra +12 +0\.0 % +91\.7 % +\+91\.7 \[\+\d+\.\d, \+\d+\.\d\] +0\.0039", result.out)
    values = lumos("compare", *jobs, "--by", "topic", "--json").json["comparisons"][0]["by"]["topic"]
    assert [group["p_holm"] for group in values[:2]] == [pytest.approx(4 * 2 / 2**11), 1.0]


def test_an_unknown_field_is_one_line_that_lists_the_fields(lumos, jobs):
    for command in (["report", jobs[0]], ["compare", *jobs], ["report", jobs[0], "--html", str(lumos.home / "x.html")]):
        result = lumos(*command, "--by", "topik")
        assert (result.code, result.out) == (2, "")
        assert (
            result.err.strip()
            == "lumos: No field of the data called 'topik'. Did you mean 'topic'? Choose one of: topic."
        )
    result = lumos("compare", f"{jobs[0]}-0", f"{jobs[1]}-0", "--by", "topic")
    assert result.code == 2 and "--by is for jobs" in result.err
    result = lumos("episodes", jobs[0], "--where", "meta.topik=algebra")
    assert result.code == 2 and "called 'topik'" in result.err


def test_the_same_from_python(lumos, jobs):
    first, other = (lq.get_job(job) for job in jobs)
    report = first.report(by="topic")
    assert [group.get("value") for group in report["by"]["topic"]][:2] == ["algebra", "sets"]
    assert "by topic" in str(report) and "by topic" in first.report(by=["topic"]).to_html()
    compared = first.compare(other, by="topic")
    assert compared["comparisons"][0]["by"]["topic"][0]["fixed"] == 11
    assert "by topic" in compared.to_markdown() and "by" not in first.report().values
    with pytest.raises(lq.SpecError, match="called 'topik'"):
        first.report(by="topik")
    chosen = other.episodes("meta.topic=algebra")
    assert chosen.count() == 12 and set(chosen.to_pandas()["meta.topic"]) == {"algebra"}


def test_columns_of_fields_have_types(lumos, stored):
    import pandas
    import pyarrow

    metas = [{"year": 1999, "share": 0.5, "open": True, "topic": "a"}, {"year": None}]
    job = lq.get_job(create_scored_job(stored, [[1], [0]], tasks_with(metas)))
    frame, table = job.episodes().to_pandas(), job.episodes().to_arrow()
    fields = ["meta.open", "meta.share", "meta.topic", "meta.year"]
    assert [name for name in frame if name.startswith("meta.")] == fields
    assert [str(frame[name].dtype) for name in fields] == ["boolean", "float64", "object", "Int64"]
    assert isinstance(frame, pandas.DataFrame) and frame["meta.year"].isna().tolist() == [False, True]
    types = [pyarrow.bool_(), pyarrow.float64(), pyarrow.large_string(), pyarrow.int64()]
    assert [table.schema.field(name).type for name in fields] == types
    assert job.episodes().to_dataset()["meta.year"][0] == 1999
