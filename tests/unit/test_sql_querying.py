"""What scores ask of the databases: once, within bounds, and by a process that ends when it is not needed."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.benchmarks.intercode_sql import gold_queries
from lumos_queue.benchmarks.intercode_sql.gold_queries import GoldQueries, open_queries
from lumos_queue.errors import ActionError
from tests.processes import child_pids, wait_until_ended

pytestmark = pytest.mark.usefixtures("own_helper_processes")


@pytest.fixture
def tools(tmp_path) -> dict[str, str]:
    file = tmp_path / "shop" / "shop.sqlite"
    file.parent.mkdir()
    with sqlite3.connect(file) as made:
        made.execute("CREATE TABLE hat (name TEXT)")
        made.executemany("INSERT INTO hat VALUES (?)", [(f"{number:0100}",) for number in range(1000)])
    made.close()
    return SqlActions.prepare({"databases": str(tmp_path)})


def test_the_process_ends_when_nothing_is_asked_and_comes_back(tools):
    before, queries = child_pids(), GoldQueries(tools, idle=0.05)
    assert queries.rows("shop", "SELECT count(*) FROM hat") == [[1000]]
    wait_until_ended(child_pids() - before)
    assert queries.schema("shop") == "Table hat has name (type: TEXT)"
    assert queries.rows("shop", "SHOW TABLES") == [["hat"]]
    queries.close()
    assert child_pids() <= before


def test_what_was_asked_is_remembered_within_bounds(tools, monkeypatch):
    monkeypatch.setattr(gold_queries, "MAX_REMEMBERED", 300_000)
    queries, counted = GoldQueries(tools), []
    ask = queries._databases.ask

    async def counting(database, text, writes=None):
        counted.append(text)
        return await ask(database, text, writes)

    monkeypatch.setattr(queries._databases, "ask", counting)
    texts = [f"SELECT name FROM hat WHERE {number} = {number}" for number in range(4)]  # of 106 kB each
    for text in (*texts, texts[-1], texts[-2], texts[0]):
        assert len(queries.rows("shop", text)) == 1000
        assert sum(map(len, queries._replies.values())) == queries._size <= 300_000
    assert counted == [*texts, texts[0]]
    queries.close()


def test_a_failed_query_is_an_error_every_time(tools):
    queries = GoldQueries(tools)
    for _ in range(2):
        with pytest.raises(ActionError, match="no such column"):
            queries.rows("shop", "SELECT nothing FROM hat")
    queries.close()


def test_threads_that_ask_at_the_same_time_share_one_process(tools):
    before, start = child_pids(), threading.Barrier(8)

    def first(_):
        start.wait()
        found = open_queries(tools)
        return found, found.rows("shop", "SELECT count(*) FROM hat")

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(first, range(8)))
    assert len({id(one) for one, _ in found}) == 1
    assert all(rows == [[1000]] for _, rows in found)
    assert len(child_pids() - before) == 1
    found[0][0].close()


def test_options_that_were_not_used_lately_are_closed(tools):
    before = child_pids()
    many = [tools | {"turns": str(number)} for number in range(1, gold_queries.MAX_OPEN + 2)]
    for one in many:
        open_queries(one).rows("shop", "SELECT 1")
    assert len(child_pids() - before) == gold_queries.MAX_OPEN
    for one in many:
        open_queries(one).close()
    assert child_pids() <= before


def test_gold_and_answers_have_the_same_bound(tools):
    async def largest():
        actions = SqlActions(tools)
        try:
            return await actions._databases.ask("shop", "SELECT a.name FROM hat AS a, hat AS b")
        finally:
            await actions.close()

    with pytest.raises(ActionError, match="use LIMIT"):
        asyncio.run(largest())
