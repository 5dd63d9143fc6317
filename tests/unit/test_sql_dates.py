"""MySQL's functions of dates and its catalogue on a copy; a real server is asked the same in test_sql_mysql.py."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.actions.sql.dates import date_format, from_unixtime, str_to_date
from lumos_queue.actions.sql.interface import SqlActions
from tests.sql_shop import Episode
from tests.sql_statements import CATALOGUE, DATES, MADE


@pytest.fixture(scope="module")
def actions(tmp_path_factory):
    root = tmp_path_factory.mktemp("databases")
    many = [f"CREATE TABLE t{number} (a INT)" for number in range(120)]
    for name, statements in (("shop", MADE), ("bare", ()), ("many", many)):
        (root / name).mkdir()
        with sqlite3.connect(root / name / f"{name}.sqlite") as made:
            made.execute("PRAGMA user_version = 1")  # a file without tables is a database too
            for text in statements:
                made.execute(text)
        made.close()
    found = SqlActions(SqlActions.prepare({"databases": str(root), "turns": "50"}))
    yield found
    asyncio.run(found.close())


def test_dates_are_read_and_written_as_mysql_does(actions):
    found = Episode(actions)("SELECT " + ", ".join(text for text, _ in DATES))
    assert found.ok, found.message
    assert found.values[0]["rows"] == [[value for _, value in DATES]]


@pytest.mark.parametrize(("text", "rows"), CATALOGUE)
def test_the_catalogue_shows_the_tasks_database(actions, text, rows):
    found = Episode(actions)(text)
    assert found.ok, found.message
    assert found.values[0]["rows"] == rows


def test_a_catalogue_of_nothing_is_empty_and_one_of_many_tables_whole(actions):
    text = "SELECT TABLE_NAME, TABLE_SCHEMA FROM INFORMATION_SCHEMA.TABLES"
    assert Episode(actions, "bare")(text).values[0]["rows"] == []
    assert len(Episode(actions, "many")(text).values[0]["rows"]) == 120


def test_what_mysql_reads_and_this_does_not_is_said(actions):
    for text in ("STR_TO_DATE('1 2020', '%U %Y')", "DATE_FORMAT('2020-01-01', '%X %V')"):
        assert Episode(actions)(f"SELECT {text}").status == "sql_error"


@given(st.datetimes())
def test_a_moment_comes_back_from_its_text(moment):
    shown = moment.strftime("%m/%d/") + f"{moment.year:04}" + moment.strftime(" %H.%M.%S.%f")
    form = "%m/%d/%Y %H.%i.%s.%f"
    assert str_to_date(shown, form) == moment.isoformat(" ", "microseconds")
    assert date_format(moment.isoformat(" ", "microseconds"), form) == shown


values = st.one_of(st.text(max_size=30), st.integers(), st.floats(), st.none())


@given(values, st.text(alphabet="%YymdHisSfpMbWajDTr -/:", max_size=12))
def test_no_text_and_no_format_breaks_them(value, form):
    for found in (str_to_date(value, form), date_format(value, form), from_unixtime(value, form)):
        assert found is None or isinstance(found, str)
