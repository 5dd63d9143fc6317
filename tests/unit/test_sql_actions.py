"""The SQL actions on a small database of their own: what they answer, refuse and leave as it was."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.episode import StepContext
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Task
from lumos_queue.util.sandbox import Sandbox
from tests.gold_sql import as_intercode
from tests.sql_shop import Episode, digest, make_databases

HEX = "hex(" * 8 + "name" + ")" * 8  #: 256 characters for each of a name's
MANY = ", ".join(f"hat AS h{n}" for n in range(18))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make_databases(tmp_path_factory.mktemp("databases"))


@pytest.fixture(scope="module")
def reading(folder):
    actions = SqlActions(SqlActions.prepare({"databases": str(folder)}))
    yield actions
    asyncio.run(actions.close())


@pytest.fixture(scope="module")
def hasty(folder):
    """As `reading`, with a tenth of the processor time for a statement."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lumos_queue.actions.sql.databases.new_sandbox", lambda count: Sandbox("tests.hasty_sql", count))
        actions = SqlActions(SqlActions.prepare({"databases": str(folder)}))
    yield actions
    asyncio.run(actions.close())


def test_an_episode_finds_tables_writes_fragments_and_submits_a_query(reading):
    ask = Episode(reading)
    tables = ask("SHOW TABLES")
    assert tables.result == (
        "Results: Table hat has hat_id (type: NUMBER), name (type: TEXT), price (type: NUMBER), bought (type: TIME); "
        "Table size has code (type: TEXT), hat_id (type: NUMBER), in stock (type: NUMBER)."
    )
    assert as_intercode(tables) == "[('hat',), ('size',)]"
    assert ask("name FROM hat").result == "name FROM hat"
    assert ask("WHERE price > 10 ORDER BY price").values[0]["kind"] == "fragment"
    assert not any(execution.ends for _, execution in ask.done)
    query = ask("SELECT name FROM hat WHERE price > 10 ORDER BY price")
    assert query.ends
    assert query.result == "[('Fez',), ('Boater',)]"
    assert query.values[0]["rows"] == [["Fez"], ["Boater"]]
    assert (query.values[0]["columns"], query.values[0]["submission"]) == (["name"], 1)


@pytest.mark.parametrize(
    "text", ["DESC hat", "DESCRIBE hat", "SHOW COLUMNS FROM Hat", "SHOW COLUMNS FROM hat IN shop", "EXPLAIN hat"]
)
def test_tables_are_described_in_every_spelling(reading, text):
    found = Episode(reading)(text)
    assert found.values[0]["rows"][:2] == [
        ["hat_id", "integer", "NO", "PRI", None, ""],
        ["name", "text", "NO", "", None, ""],
    ]
    assert not found.ends


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('SELECT name FROM hat WHERE name = "fez"', [["Fez"]]),  # double quotes make a text, and case does not count
        ("SELECT count(DISTINCT code) FROM size", [[2]]),
        ("SELECT hat_id / 2 FROM hat ORDER BY 1", [[0.5], [1.0], [1.5]]),  # not whole numbers, as in SQLite
        ("SELECT CONCAT(name, '!', NULL), CONCAT(name, '!') FROM hat LIMIT 1", [[None, "Fez!"]]),
        ("SELECT YEAR(bought), LEFT(name, 2), RIGHT(name, 1) FROM hat WHERE hat_id = 1", [[2021, "Fe", "z"]]),
        ("SELECT IF(price > 10, 'dear', 'cheap') FROM hat ORDER BY hat_id", [["dear"], ["dear"], ["cheap"]]),
        ("(SELECT name FROM hat WHERE hat_id = 1) UNION (SELECT 'x')", [["Fez"], ["x"]]),
        ("WITH c AS (SELECT price FROM hat) SELECT max(price) FROM c", [[30.0]]),
        ("SELECT shop.hat.name FROM shop.hat LIMIT 1", [["Fez"]]),
        ("select `in stock` from size where hat_id in (select hat_id from hat where price < 10);", [[7]]),
        ("SELECT name FROM hat WHERE name REGEXP '^b'", [["Boater"]]),
        ("SELECT name, rank() OVER (ORDER BY price DESC) FROM hat ORDER BY 2 LIMIT 1", [["Boater", 1]]),
        # case does not count where expressions are compared, sorted and grouped either
        (
            "SELECT lower(name) = 'CAP', 'a' = 'A', 'a' < 'B', 3 = 3.0 FROM hat WHERE CONCAT(name, '') = 'CAP'",
            [[1] * 4],
        ),
        ("SELECT count(*) FROM hat WHERE lower(name) IN ('FEZ', 'CAP') OR lower(name) BETWEEN 'A' AND 'C'", [[3]]),
        ("SELECT count(*) FROM hat WHERE lower(name) IN (SELECT upper(name) FROM hat)", [[3]]),
        ("SELECT count(*) FROM (SELECT lower(name) AS n FROM hat) AS t WHERE n = 'FEZ'", [[1]]),
        ("SELECT count(*) FROM size GROUP BY CONCAT(code, '') ORDER BY 1", [[1], [2]]),
        ("SELECT count(DISTINCT CONCAT(code, '')) FROM size", [[2]]),
        ("SELECT CONCAT(code, '') FROM size ORDER BY CONCAT(code, ''), hat_id", [["m"], ["s"], ["S"]]),
        ("SELECT CASE lower(name) WHEN 'CAP' THEN 1 ELSE 0 END FROM hat ORDER BY hat_id", [[0], [0], [1]]),
        ("SELECT count(*) OVER (PARTITION BY CONCAT(code, '')) FROM size ORDER BY 1", [[1], [2], [2]]),
        ("SELECT count(*) FROM hat WHERE BINARY name = 'cap'", [[0]]),
        ("SELECT (hat_id, name) = (1, 'fez'), ((hat_id, name)) = ((1, 'fez')) FROM hat LIMIT 1", [[1, 1]]),
        ("SELECT count(*) FROM hat WHERE (SELECT * FROM size LIMIT 1) = (SELECT * FROM size LIMIT 1)", [[3]]),
        ("SELECT name FROM hat WHERE hat_id + 0 = '2' OR price = (SELECT max(price) FROM hat)", [["Boater"]]),
    ],
)
def test_mysql_is_understood(reading, text, rows):
    found = Episode(reading)(text)
    assert found.ok, found.message
    assert found.values[0]["rows"] == rows


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("INSERT INTO hat VALUES (4, 'Bowler', 1, NULL)", "refused"),
        ("UPDATE hat SET price = 0", "refused"),
        ("DELETE FROM hat", "refused"),
        ("DROP TABLE hat", "refused"),
        ("CREATE TABLE t AS SELECT 1", "refused"),
        ("ALTER TABLE hat ADD COLUMN x INT", "refused"),
        ("REPLACE INTO hat VALUES (1, 'x', 1, NULL)", "refused"),
        ("TRUNCATE hat", "refused"),
        ("INSERT INTO hat VALUES (1, 'x', 1, NULL) ON DUPLICATE KEY UPDATE name = 'x'", "refused"),
        ("WITH c AS (SELECT 1) DELETE FROM hat", "syntax|refused"),
        ("SELECT SLEEP(100)", "refused"),
        ("SELECT BENCHMARK(1000000000, MD5('x'))", "refused"),
        ("SELECT LOAD_FILE('/etc/passwd')", "refused"),
        ("SELECT readfile('/etc/passwd')", "refused"),
        ("SELECT writefile('/tmp/lumos-sql', 'x')", "refused"),
        ("SELECT load_extension('/tmp/x.so')", "refused"),
        ("SELECT * FROM hat INTO OUTFILE '/tmp/lumos-sql'", "syntax"),
        ("SELECT name INTO DUMPFILE '/tmp/lumos-sql' FROM hat", "syntax"),
        ("SELECT name INTO @a FROM hat", "refused"),
        ("SELECT @@version", "refused"),
        ("SELECT USER()", "refused"),
        ("SELECT random()", "refused"),
        ("ATTACH DATABASE '/tmp/lumos-sql.db' AS other", "syntax"),
        ("PRAGMA writable_schema = 1", "refused"),
        ("VACUUM INTO '/tmp/lumos-sql.db'", "syntax|refused"),
        ("SELECT * FROM pragma_table_info('hat')", "refused"),
        ("SELECT * FROM sqlite_master", "sql_error"),
        ("SELECT * FROM generate_series(1, 1000000000)", "refused"),
        ("SELECT * FROM json_each('[1]')", "refused"),
        ("SELECT * FROM information_schema.triggers", "refused"),
        ("SELECT * FROM information_schema.tables JOIN mysql.user", "refused"),
        ("SELECT * FROM information_schema.sqlite_master", "refused"),
        ("SELECT STR_TO_DATE('1 2020', '%U %Y')", "sql_error"),
        ("UPDATE information_schema.tables SET table_name = 'x'", "refused"),
        ("SELECT * FROM mysql.user", "refused"),
        ("SHOW COLUMNS FROM user IN mysql", "refused"),
        ("SHOW VARIABLES", "refused"),
        ("SHOW DATABASES", "refused"),
        ("SELECT 1; DROP TABLE hat", "several"),
        ("SELECT 1; SELECT 2", "several"),
        ("/* only a comment */", "syntax"),
        ("SELECT /*+ MAX_EXECUTION_TIME(0) */ name FROM hat", "refused"),
        ("SELECT name FROM hat WHERE name = 'Fez", "syntax"),
        ("SELECT \0 FROM hat", "syntax"),
        ("SELECT nothing FROM hat", "sql_error"),
        ('SELECT "nothing" . x FROM hat', "syntax|sql_error"),
        ("SELECT `nothing` FROM hat", "sql_error"),  # not the text 'nothing', which SQLite makes of "nothing"
        ("SELECT * FROM shoe", "sql_error"),
        ("DESCRIBE shoe", "sql_error"),
        ("SELECT " + "(" * 3000 + "1" + ")" * 3000, "too_large|syntax|sql_error|crashed"),
        ("SELECT '" + "x" * 1_000_000 + "'", "too_large"),
        ("SELECT zeroblob(1000000000)", "refused"),
        ("SELECT printf('%.*c', 1000000000, 'x')", "refused"),
        (f"SELECT replace(x, '3', x) FROM (SELECT {HEX} AS x FROM hat) AS t", "too_large"),
        ("SELECT replace(replace(hex(name), '4', hex(name || name)), '6', name) FROM hat FOR UPDATE", "refused"),
    ],
)
def test_what_may_not_be_done_is_an_error_and_the_episode_goes_on(reading, folder, text, kind):
    before, ask = digest(folder), Episode(reading)
    failed = ask(text)
    assert failed.status in kind.split("|"), (failed.status, failed.message)
    assert failed.message
    assert not failed.ends
    assert ask("SELECT count(*) FROM hat").values[0]["rows"] == [[3]]
    assert digest(folder) == before
    assert not list(Path("/tmp").glob("lumos-sql*"))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT /*!50000 SLEEP(100), */ name FROM hat WHERE hat_id = 1",
        "SELECT name FROM hat WHERE hat_id = 1 /*! INTO OUTFILE '/tmp/lumos-sql' */",
        "SELECT name FROM hat WHERE hat_id = 1 -- ; DROP TABLE hat",
        "/*! DROP TABLE hat */ SELECT name FROM hat WHERE hat_id = 1",
    ],
)
def test_what_stands_in_comments_is_never_run(reading, text):
    assert Episode(reading)(text).values[0]["rows"] == [["Fez"]]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("SELECT count(*) FROM " + ", ".join(f"hat AS h{n}" for n in range(40)), ("timeout",)),
        ("SELECT * FROM " + ", ".join(f"hat AS h{n}" for n in range(12)), ("too_large",)),
        ("WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c", ("refused",)),
        ("WITH c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c", ("refused", "sql_error")),
        ("SELECT '" + "a" * 60 + "b' REGEXP '(a+)+$' FROM hat", ("timeout",)),
        (f"SELECT group_concat(h1.name) FROM {MANY}", ("too_large", "timeout", "memory")),
        (f"SELECT * FROM (SELECT DISTINCT h1.name || h2.price || h3.name FROM {MANY}) AS z ORDER BY 1", ("timeout",)),
    ],
)
def test_what_takes_too_much_is_ended_and_the_worker_unharmed(hasty, text, kinds):
    ask = Episode(hasty)
    failed = ask(text)
    assert failed.status in kinds, (failed.status, failed.message)
    assert ask("SELECT count(*) FROM hat").values[0]["rows"] == [[3]]


def test_the_event_loop_goes_on_while_a_statement_takes_its_time(hasty):
    async def both():
        session = hasty.begin(Task("intercode_sql", "", "1", "?", {"database": "shop"}))
        slow = Action(("R1",), "", "SELECT count(*) FROM " + ", ".join(f"hat AS h{n}" for n in range(40)))
        task = asyncio.ensure_future(session.execute(slow, StepContext(0, 0)))
        turns = 0
        while not task.done():
            await asyncio.sleep(0.01)
            turns += 1
        return task.result().status, turns

    status, turns = asyncio.run(both())
    assert status == "timeout"
    assert turns > 5  # of some 50; a statement that held the loop up would leave one


@pytest.mark.parametrize(
    "name", ["../shop", "shop/../shop", "/etc/passwd", "nowhere", "", "shop\0", None, 7, "text", "torn"]
)
def test_a_database_that_is_none_is_an_error(reading, name):
    failed = Episode(reading, name)("SELECT 1")
    assert failed.status == "no_database", failed.message
    assert "Traceback" not in failed.message


def test_several_turns_end_with_the_last_submission(folder):
    actions = SqlActions(SqlActions.prepare({"databases": str(folder), "turns": "2"}))
    ask = Episode(actions)
    assert not ask("SELECT nothing FROM hat").ok
    assert not ask("SELECT name FROM hat").ends
    assert not ask("DESCRIBE hat").ends
    assert ask("SELECT price FROM hat").ends
    asyncio.run(actions.close())


def test_long_results_are_shown_in_part_and_kept_whole(reading):
    found = Episode(reading)("SELECT a.name, b.name FROM hat AS a, hat AS b, hat AS c, hat AS d, hat AS e")
    assert len(found.values[0]["rows"]) == 243
    assert len(found.result) < 2100
    assert found.result.endswith("more rows")


def test_a_result_is_bounded_so_that_keeping_it_holds_nobody_up(reading):
    ask = Episode(reading)
    wide = f"SELECT {', '.join('1' * 10)} FROM hat AS a, hat AS b, hat AS c, hat AS d, hat AS e, hat AS f, hat AS g"
    assert len(ask(f"{wide} LIMIT 2000").values[0]["rows"]) == 2000
    long = ask(wide.replace("hat AS g", "hat AS g, hat AS h, hat AS i"))  # 19,683 rows of 10 numbers
    assert long.status == "too_large"
    assert "use LIMIT" in long.message


def test_no_action_and_a_variable(reading):
    ask = Episode(reading)
    assert asyncio.run(ask.session.execute(Action((), "", "hello"), StepContext(0, 0))).status == "unreadable"
    ask("name FROM hat")
    assert ask("R1").result == "name FROM hat"


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ({}, "databases=FOLDER"),
        ({"databases": "/nowhere"}, "no such folder"),
        ({"databases": "/tmp", "mysql": "mysql://h"}, "needs exactly one of"),
        ({"databases": "/", "writes": "maybe"}, "'yes' or 'no'"),
        ({"databases": "/", "turns": "0"}, "1 to 50"),
        ({"databases": "/", "turns": "ten"}, "1 to 50"),
        ({"database": "/"}, "databases"),
        ({"mysql": "mysql://ann:secret@host"}, "LUMOS_API_KEYS"),
        ({"mysql": "http://host"}, "mysql://HOST:PORT"),
        ({"mysql": "mysql://host:port"}, "mysql://HOST:PORT"),
    ],
)
def test_options_that_do_not_fit_are_refused_at_submission(tools, said):
    with pytest.raises(SpecError, match=said) as error:
        DOMAINS.load("intercode_sql").prepare_tools(tools)
    assert "secret" not in str(error.value)


def test_databases_that_have_changed_are_refused(tmp_path, folder):
    copy = tmp_path / "databases"
    (copy / "shop").mkdir(parents=True)
    (copy / "shop" / "shop.sqlite").write_bytes((folder / "shop" / "shop.sqlite").read_bytes())
    tools = DOMAINS.load("intercode_sql").prepare_tools({"databases": str(copy)})
    assert Path(tools["databases"]).is_absolute()
    asyncio.run(DOMAINS.load("intercode_sql").open_actions(tools).close())
    with (copy / "shop" / "shop.sqlite").open("ab") as file:
        file.write(b"\0" * 512)
    with pytest.raises(SpecError, match="submit again"):
        DOMAINS.load("intercode_sql").open_actions(tools)
