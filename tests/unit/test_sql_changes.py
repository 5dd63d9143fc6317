"""Statements that change an episode's copy: what they do, what they may not, and that a resume does them again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.episode import Diverged
from lumos_queue.records import Execution
from tests.gold_sql import as_intercode
from tests.sql_shop import Episode, digest, make_databases


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make_databases(tmp_path_factory.mktemp("databases"))


@pytest.fixture(scope="module")
def writing(folder):
    actions = SqlActions(SqlActions.prepare({"databases": str(folder), "writes": "yes", "turns": "10"}))
    yield actions
    asyncio.run(actions.close())


def test_a_variable_is_no_submission_and_copies_no_rows(writing):
    ask = Episode(writing)
    query = ask("SELECT a.name FROM hat AS a, hat AS b, hat AS c, hat AS d, hat AS e, hat AS f, hat AS g")
    assert len(query.values[0]["rows"]) == 2187
    again = [ask("R1") for _ in range(60)]
    assert {one.values[0]["of"] for one in again} == {"R1"}
    assert {one.result for one in again} == {query.result}
    assert not any(one.ends or "rows" in one.values[0] or "submission" in one.values[0] for one in again)
    assert len(json.dumps([one.values for one in again])) < 60 * 2300  # the shown text has 2,000 characters
    assert ask("SELECT 1").values[0]["submission"] == 2


@pytest.mark.parametrize(
    ("write", "rows"),
    [
        ("UPDATE hat SET price = price + 1", [[13.5], [31.0], [9.0]]),
        ("DELETE FROM hat WHERE hat_id = 1", [[30.0], [8.0]]),
        ("INSERT INTO hat (hat_id, name, price) VALUES (4, 'Bowler', 50)", [[12.5], [30.0], [8.0], [50.0]]),
    ],
)
def test_a_variable_carries_no_write_out_again(writing, write, rows):
    ask = Episode(writing)
    assert ask(write).ok
    assert ask("R1").result == ask.done[0][1].result
    assert ask("SELECT price FROM hat ORDER BY hat_id").values[0]["rows"] == rows


def test_writes_change_the_copy_of_their_episode_only(writing, folder):
    before, ask = digest(folder), Episode(writing)
    assert ask("INSERT INTO hat VALUES (4, 'Bowler', 50, NULL)").result == "1 rows changed"
    assert ask("ALTER TABLE hat ADD COLUMN maker TEXT").ok
    assert ask("UPDATE hat SET maker = 'Ida' WHERE price > 20").result == "2 rows changed"
    assert as_intercode(ask.done[1][1]) == "None"
    assert ask("SELECT name FROM hat WHERE maker = 'ida'").values[0]["rows"] == [["Boater"], ["Bowler"]]
    assert Episode(writing)("SELECT count(*) FROM hat").values[0]["rows"] == [[3]]
    assert digest(folder) == before


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE sqlite_master SET sql = 'x'",
        "DELETE FROM sqlite_master",
        "CREATE TABLE t AS SELECT * FROM sqlite_master",
        "ATTACH DATABASE 'x' AS y",
        "CREATE TRIGGER t AFTER INSERT ON hat BEGIN DELETE FROM hat; END",
        "CREATE VIRTUAL TABLE t USING fts5(x)",
        "CREATE TEMPORARY TABLE t (x INT)",
        "INSERT INTO hat VALUES (9, 'x', RAND(), NULL)",
        "INSERT INTO hat VALUES (9, 'x', 1, NOW())",
        "INSERT INTO hat VALUES (9, zeroblob(900000000), 1, NULL)",
        "PRAGMA journal_mode = WAL",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE hat",
    ],
)
def test_writing_goes_no_further_than_tables(writing, folder, text):
    before, ask = digest(folder), Episode(writing)
    assert ask(text).status in ("refused", "syntax", "several", "sql_error", "unsupported_sql", "too_large")
    assert ask("SELECT count(*) FROM hat").values[0]["rows"] == [[3]]
    assert digest(folder) == before


@pytest.mark.parametrize(
    ("write", "changed", "check", "rows"),
    [
        ("ALTER TABLE hat RENAME COLUMN price TO cost", 0, "SELECT max(cost) FROM hat", [[30.0]]),
        ("ALTER TABLE hat DROP COLUMN bought", 0, "SELECT * FROM hat LIMIT 1", [[1, "Fez", 12.5]]),
        ("ALTER TABLE hat RENAME TO cap", 0, "SELECT count(*) FROM cap", [[3]]),
        ("TRUNCATE TABLE hat", 3, "SELECT count(*) FROM hat", [[0]]),
        ("REPLACE INTO hat VALUES (1, 'Kepi', 1, NULL)", 1, "SELECT name FROM hat WHERE hat_id = 1", [["Kepi"]]),
        ("replace hat (hat_id, name) VALUES (7, 'INTO')", 1, "SELECT name FROM hat WHERE hat_id = 7", [["INTO"]]),
        ("INSERT IGNORE INTO hat VALUES (1, 'x', 1, NULL)", 0, "SELECT name FROM hat WHERE hat_id = 1", [["Fez"]]),
        ("UPDATE hat AS h SET h.name = 'x' WHERE lower(h.name) = 'FEZ'", 1, "SELECT count(*) FROM hat", [[3]]),
        ("CREATE TABLE t (n INT DEFAULT 3, b TEXT DEFAULT 'x')", 0, "SELECT count(*) FROM t", [[0]]),
    ],
)
def test_what_mysql_writes_is_understood(writing, write, changed, check, rows):
    ask = Episode(writing)
    found = ask(write)
    assert (found.status, found.message) == ("ok", "")
    assert found.values[0]["changed"] == changed
    assert ask(check).values[0]["rows"] == rows
    assert ask("SHOW TABLES").ok


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO hat VALUES (1, 'x', 1, NULL) ON DUPLICATE KEY UPDATE name = 'x'",
        "UPDATE hat JOIN size ON hat.hat_id = size.hat_id SET hat.price = 1",
        "UPDATE hat, size SET hat.price = 1",
        "UPDATE hat SET price = 1 ORDER BY hat_id LIMIT 1",
        "DELETE hat FROM hat JOIN size ON hat.hat_id = size.hat_id",
        "DELETE FROM hat ORDER BY hat_id LIMIT 1",
        "ALTER TABLE hat MODIFY COLUMN price TEXT",
        "ALTER TABLE hat CHANGE price cost TEXT",
        "ALTER TABLE hat ADD INDEX (price)",
        "ALTER TABLE hat DROP PRIMARY KEY",
        "ALTER TABLE hat ADD COLUMN a INT, ADD COLUMN b INT",
    ],
)
def test_what_a_copy_cannot_do_is_said(writing, text):
    ask = Episode(writing)
    failed = ask(text)
    assert failed.status == "unsupported_sql", (failed.status, failed.message)
    assert failed.message.startswith("a copy of this database cannot do that: ")
    assert ask("SELECT count(*), sum(price) FROM hat").values[0]["rows"] == [[3, 50.5]]


@pytest.mark.parametrize(
    "value",
    [
        "date('now')",
        "DATE('NOW')",
        "julianday()",
        "datetime('subsec')",
        "time('now')",
        "julianday('now')",
        "unixepoch()",
        "strftime('%s', 'now')",
        "CURRENT_TIMESTAMP",
        "CURDATE()",
        "UTC_TIMESTAMP()",
        "UTC_DATE()",
        "UTC_TIME()",
        "LOCALTIME",
        "SYSDATE()",
        "UNIX_TIMESTAMP()",
    ],
)
@pytest.mark.parametrize(
    "write",
    [
        "INSERT INTO hat (hat_id, name, bought) VALUES (9, 'x', {})",
        "INSERT INTO hat (hat_id, name, bought) SELECT 9, 'x', {}",
        "UPDATE hat SET bought = {}",
        "DELETE FROM hat WHERE bought < {}",
        "CREATE TABLE t AS SELECT {} AS x",
    ],
)
def test_what_is_written_does_not_depend_on_the_day(writing, write, value):
    ask = Episode(writing)
    failed = ask(write.format(value))
    assert failed.status == "refused", (failed.status, failed.message)
    assert "time" in failed.message.lower() or "there is no function" in failed.message or "SYSDATE" in failed.message


@pytest.mark.parametrize(
    "column",
    [
        "d TEXT DEFAULT (datetime('now'))",
        "d TEXT DEFAULT CURRENT_TIMESTAMP",
        "d TEXT DEFAULT (1 + julianday('now'))",
        "d TEXT AS (date('now'))",
        "n INT CHECK (n < julianday('now'))",
    ],
)
def test_no_column_fills_in_the_day(writing, column):
    ask = Episode(writing)
    made = ask(f"CREATE TABLE t (n INT, {column})" if "CHECK" not in column else f"CREATE TABLE t ({column})")
    filled = ask("INSERT INTO t (n) VALUES (1)")
    assert not (made.ok and filled.ok)


def test_the_day_may_be_asked_for_after_a_write(writing):
    ask = Episode(writing)
    ask("UPDATE hat SET bought = '2020-01-01'")
    assert ask("SELECT count(*) FROM hat WHERE bought < date('now') AND bought < CURDATE()").values[0]["rows"] == [[3]]


def test_a_resumed_episode_has_its_writes_again(writing):
    first = Episode(writing)
    first("INSERT INTO hat VALUES (4, 'Bowler', 50, NULL)")
    resumed = Episode(writing)
    resumed.done = list(first.done)
    assert resumed("SELECT count(*) FROM hat").values[0]["rows"] == [[4]]


def test_a_resumed_episode_whose_writes_do_something_else_begins_anew(writing):
    ask = Episode(writing)
    ask("UPDATE hat SET price = 1 WHERE price > 10")
    action, execution = ask.done[0]
    ask.done[0] = (action, Execution("ok", "9 rows changed", ({**execution.values[0], "changed": 9},)))
    with pytest.raises(Diverged):
        ask("SELECT 1")
