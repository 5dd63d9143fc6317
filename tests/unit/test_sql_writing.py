"""SQL as grounders write it: no call, no parentheses; written, read and learnt from without a change."""

from __future__ import annotations

import re

import pytest

from lumos_queue.benchmarks.spider.benchmark import benchmark as source
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import read_actions, write_actions
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations
from lumos_queue.records import Action, Task

CALLS = DOMAINS.load("intercode_sql").calls


def action(number: int, text: str) -> Action:
    return Action((f"R{number}",), "", text)


@pytest.mark.parametrize(
    "text",
    [
        "SHOW TABLES",
        "name FROM hat",
        "count(*), max(price) FROM hat",
        "(a + b) / 2 FROM hat",
        "(SELECT name FROM hat) UNION (SELECT name FROM shoe)",
        "WHERE name = 'a; b' AND price = (SELECT max(price) FROM hat)",
        "SELECT name FROM hat WHERE price == 3",
        "SELECT R1.name FROM hat AS R1",
        "SELECT 'x = y; z = w'",
        "5",
    ],
)
def test_what_follows_the_variable_is_written_and_read_as_it_stands(text):
    some = [action(1, "SHOW TABLES"), action(2, text), action(3, text)]
    written = write_actions(some, CALLS)
    assert f"; R3 = {text}" in written
    assert [(one.variables, one.name, one.arguments) for one in read_actions(written, CALLS)] == [
        (one.variables, one.name, one.arguments) for one in some
    ]


def test_a_semicolon_at_the_end_separates_nothing():
    (one,) = read_actions("R4 = SELECT name FROM hat;", CALLS)
    assert one.arguments == "SELECT name FROM hat"
    first, second = read_actions("R1 = SELECT 1; ; R2 = SELECT 2;", CALLS)
    assert (first.variables, second.arguments) == (("R1",), "SELECT 2")


SPIDER = {
    "answer": "SELECT name, count(*) FROM hat WHERE price > 3 GROUP BY name ORDER BY count(*) DESC LIMIT 1;",
    "schema": "Table hat has name (type: TEXT), price (type: NUMBER)",
}


@pytest.mark.parametrize(("name", "shots"), [("iterative", 0), ("iterative", 3), ("one-pass", 0), ("integrated", 0)])
def test_spiders_annotations_become_conversations_of_plain_sql(name, shots):
    task = Task("spider", "", "1", "Which name is most frequent?", {"database": "shop"}, SPIDER)
    agent = Agent(roles={}, domain="intercode_sql", shots=shots)
    conversations = gold_conversations(task, source.gold(task), FORMULATIONS.load(name), agent)
    said = "\n".join(turn.content for one in conversations for turn in one.turns if turn.role == "assistant")
    assert re.search(r"R2 = name, count\(\*\) FROM hat$|R2 = name, count\(\*\) FROM hat; R3", said, re.MULTILINE)
    assert "R4 = SELECT name, count(*) FROM hat WHERE price > 3 GROUP BY name ORDER BY count(*) DESC LIMIT 1" in said
    assert "(SHOW TABLES)" not in said


def test_each_demonstration_finds_selects_conditions_and_finishes():
    assert len(DOMAINS.load("intercode_sql").demonstrations) == 3
    for shown in DOMAINS.load("intercode_sql").demonstrations:
        assert [re.match(r"Subgoal (\d): ", subgoal)[1] for subgoal, _, _ in shown.steps] == ["1", "2", "3", "4"]
        (tables, selection, condition, query) = [read_actions(line, CALLS)[0] for _, line, _ in shown.steps]
        assert tables.arguments == "SHOW TABLES"
        assert shown.steps[0][2].startswith("Results: Table ")
        assert shown.steps[0][2].endswith(").")
        assert query.arguments == f"SELECT {selection.arguments} {condition.arguments}"
        assert shown.steps[3][2] == query.arguments


def test_the_demonstrated_queries_run_on_the_tables_that_are_shown(tmp_path):
    import asyncio
    import sqlite3

    from lumos_queue.actions.sql.interface import SqlActions
    from lumos_queue.episode import StepContext

    for place, shown in enumerate(DOMAINS.load("intercode_sql").demonstrations):
        schema, file = shown.steps[0][2], tmp_path / f"d{place}" / f"d{place}.sqlite"
        file.parent.mkdir()
        with sqlite3.connect(file) as made:
            for table, columns in re.findall(r"Table (\w+) has ([^;]+?)(?:;|\.$)", schema):
                kinds = {"NUMBER": "INTEGER", "TEXT": "TEXT", "TIME": "DATE"}
                parts = [f"{name} {kinds[kind]}" for name, kind in re.findall(r"(\w+) \(type: (\w+)\)", columns)]
                made.execute(f"CREATE TABLE {table} ({', '.join(parts)})")
        made.close()
    actions = SqlActions(SqlActions.prepare({"databases": str(tmp_path)}))

    async def run():
        for place, shown in enumerate(DOMAINS.load("intercode_sql").demonstrations):
            session, done = actions.begin(Task("x", "", "1", "?", {"database": f"d{place}"})), []
            for _, line, result in shown.steps[:3]:
                one = read_actions(line, CALLS)[0]
                done.append((one, await session.execute(one, StepContext(0, 0, {}, done))))
                assert done[-1][1].result == result
            last = await session.execute(read_actions(shown.steps[3][1], CALLS)[0], StepContext(0, 0, {}, done))
            assert last.ok, last.message
            assert last.ends
        await actions.close()

    asyncio.run(run())
