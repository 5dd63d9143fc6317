"""Texts compared with numbers as MySQL does it, on a copy of a database; and what is left as it was."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.actions.sql.comparison import kind_of_declaration
from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.actions.sql.numbers import number_of
from tests.sql_shop import Episode
from tests.sql_statements import COMPARED, MADE


@pytest.fixture(scope="module")
def episode(tmp_path_factory):
    root = tmp_path_factory.mktemp("databases")
    (root / "shop").mkdir()
    with sqlite3.connect(root / "shop" / "shop.sqlite") as made:
        for text in MADE:
            made.execute(text)
    made.close()
    actions = SqlActions(SqlActions.prepare({"databases": str(root), "writes": "yes", "turns": "50"}))
    yield lambda: Episode(actions)
    asyncio.run(actions.close())


@pytest.mark.parametrize(("text", "rows"), COMPARED)
def test_a_text_is_compared_with_a_number_by_the_number_it_begins_with(episode, text, rows):
    found = episode()(text)
    assert found.ok, found.message
    assert found.values[0]["rows"] == rows


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM part WHERE code = '12abc'",
        "SELECT id FROM part WHERE id + 1 > amount",
        "SELECT id FROM part WHERE made > '2020-01-01'",
        "SELECT id FROM part WHERE made = 2020",
        "SELECT id FROM part WHERE made BETWEEN '2020-01-01' AND 20201231",
        "SELECT id FROM part WHERE code IN ('a', 1)",
        "SELECT id FROM part WHERE code IS NULL",
        "SELECT x AS y, y AS x FROM part HAVING x = 'a' AND y = 1",
        "SELECT id FROM part JOIN stock USING (id)",
        "SELECT nobody FROM part WHERE nothing = 1",
        "SELECT x FROM (SELECT code AS x FROM part UNION SELECT id FROM part) AS t WHERE x = 1",
    ],
)
def test_what_is_no_such_pair_is_not_changed(episode, text):
    found = episode()(text)
    assert found.status in ("ok", "sql_error"), found.message
    assert "NUMBER_OF" not in str(found.values)


def test_what_is_written_compares_so_too_and_assigns_as_it_did(episode):
    ask = episode()
    assert ask("UPDATE part SET code = 5 WHERE code = 12").result == "2 rows changed"
    assert ask("DELETE FROM part WHERE code = 0").result == "1 rows changed"
    assert ask("SELECT id, code FROM part ORDER BY id").values[0]["rows"] == [[1, "5"], [2, "5"], [3, "9"], [5, None]]
    assert ask("ALTER TABLE part ADD COLUMN size TEXT").ok
    assert ask("UPDATE part SET size = '7 cm'").ok
    assert ask("SELECT count(*) FROM part WHERE size = 7").values[0]["rows"] == [[4]]  # a column that was not there


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("12abc", 12),
        ("abc", 0),
        ("", 0),
        (" 7 ", 7),
        ("-1.5kg", -1.5),
        ("+3", 3),
        (".5", 0.5),
        ("5.", 5),
        ("1e3", 1000),
        ("1e", 1),
        ("0x1A", 0),
        ("--1", 0),
        ("9" * 400, float("inf")),
        ("1e999", float("inf")),
        (None, None),
        (3, 3),
        (2.5, 2.5),
        ("١٢", 0),
    ],
)
def test_the_number_that_a_text_begins_with(value, number):
    assert number_of(value) == number


numbers = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))


@given(numbers, st.text(alphabet="abc xyz", max_size=5))
def test_a_number_written_out_is_itself_whatever_follows(number, rest):
    assert number_of(f"{number} {rest}") == float(number)


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("INT(11)", "number"),
        ("decimal(19,4)", "number"),
        ("double", "number"),
        ("tinyint(1)", "number"),
        ("varchar(20)", "text"),
        ("TEXT", "text"),
        ("enum('1','2')", "text"),
        ("datetime", ""),
        ("bool", ""),
        ("", ""),
        ("point", ""),
    ],
)
def test_what_a_declared_type_holds(declared, kind):
    assert kind_of_declaration(declared) == kind
