"""Comments around a statement: they are no statements, and they hide none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lumos_queue.actions.sql.dialect import read_statement
from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.errors import ActionError
from tests.sql_shop import Episode, make_databases
from tests.sql_statements import COMMENTED, SEVERAL


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    folder: Path = make_databases(tmp_path_factory.mktemp("databases"))
    actions = SqlActions(SqlActions.prepare({"databases": str(folder)}))
    yield actions
    asyncio.run(actions.close())


@pytest.mark.parametrize(("text", "rows"), COMMENTED)
def test_a_copy_runs_a_statement_with_comments(reading, text, rows):
    execution = Episode(reading)(text)
    assert execution.message == ""
    assert execution.values[0]["rows"] == rows


@pytest.mark.parametrize(
    ("text", "mysql", "sqlite"),
    [
        ("SELECT name FROM hat; -- all", "SELECT `name` FROM `hat`", "SELECT `name` FROM `hat`"),
        ("SELECT name FROM hat # all", "SELECT `name` FROM `hat`", "SELECT `name` FROM `hat`"),
        ("SELECT '-- no; # text'; # end", "SELECT '-- no; # text'", "SELECT '-- no; # text'"),
        (
            "REPLACE INTO hat VALUES (1) -- c",
            "REPLACE INTO `hat` VALUES (1)",
            "INSERT OR REPLACE INTO `hat` VALUES (1)",
        ),
        (
            "REPLACE INTO hat VALUES ('a;b'); /* c; d */",
            "REPLACE INTO `hat` VALUES ('a;b')",
            "INSERT OR REPLACE INTO `hat` VALUES ('a;b')",
        ),
        ("TRUNCATE hat; # all rows", "DELETE FROM `hat`", "DELETE FROM `hat`"),
        (
            "DELETE FROM hat -- some\nWHERE hat_id = 1; -- done",
            "DELETE FROM `hat` WHERE `hat_id` = 1",
            "DELETE FROM `hat` WHERE `hat_id` = 1",
        ),
    ],
)
def test_neither_dialect_is_sent_a_comment(text, mysql, sqlite):
    statement = read_statement(text, "shop", writes=True)
    assert statement.mysql == mysql
    assert statement.sqlite({}) == sqlite


@pytest.mark.parametrize("text", ["SHOW TABLES; -- all", "SHOW TABLES # all", "/* all */ SHOW TABLES;"])
def test_tables_are_shown_with_a_comment(text):
    assert read_statement(text, "shop").kind == "tables"


@pytest.mark.parametrize("text", ["DESC hat; # columns", "SHOW COLUMNS FROM hat -- columns"])
def test_a_table_is_described_with_a_comment(text):
    statement = read_statement(text, "shop")
    assert (statement.kind, statement.table) == ("columns", "hat")


@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("text", SEVERAL)
def test_a_comment_hides_no_second_statement(text, writes):
    with pytest.raises(ActionError, match="one statement at a time; these are 2") as caught:
        read_statement(text, "shop", writes)
    assert caught.value.kind == "several"


@pytest.mark.parametrize("text", ["-- nothing", "# nothing", "/* nothing */", ";", "; -- nothing"])
def test_comments_alone_are_no_statement(text):
    with pytest.raises(ActionError, match="one statement at a time; these are 0") as caught:
        read_statement(text, "shop")
    assert caught.value.kind == "syntax"
