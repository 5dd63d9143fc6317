"""The SQL actions on a real MariaDB server of this test run, as any user may start one."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.episode import StepContext
from lumos_queue.errors import InfrastructureError
from lumos_queue.records import Action, Task
from lumos_queue.settings import Settings
from tests.mariadb import run_mariadb
from tests.sql_statements import CATALOGUE, COMMENTED, COMPARED, DATES, MADE, SEVERAL


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    statements = (
        "CREATE DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "CREATE TABLE shop.hat (hat_id INT PRIMARY KEY, name TEXT, price DECIMAL(8,2))",
        "INSERT INTO shop.hat VALUES (1, 'Fez', 12.5), (2, 'Boater', 30)",
        "SET GLOBAL sql_mode = CONCAT(@@sql_mode, ',NO_ZERO_IN_DATE,NO_ZERO_DATE')",  # as MySQL 8 has it
        "SET GLOBAL time_zone = '+00:00'",
        "CREATE DATABASE secret",
        "CREATE DATABASE parts CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "USE parts",
        *MADE,
        "CREATE USER 'agent'@'localhost' IDENTIFIED BY 'pass-word'",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO 'agent'@'localhost'",
        "GRANT SELECT ON parts.* TO 'agent'@'localhost'",
    )
    with run_mariadb(tmp_path_factory.mktemp("mariadb"), statements) as port:
        yield f"mysql://127.0.0.1:{port}"


def run(url: str, *texts: str, password="pass-word", database="shop", **tools: str):
    settings = Settings(mysql_user="agent", mysql_password=password)

    async def episode():
        actions = SqlActions(SqlActions.prepare({"mysql": url, **tools}), settings)
        session, done = actions.begin(Task("intercode_sql", "", "1", "?", {"database": database})), []
        try:
            for text in texts:
                action = Action((f"R{len(done) + 1}",), "", text)
                done.append((action, await session.execute(action, StepContext(len(done), 0, {}, done))))
        finally:
            await actions.close()
        return [execution for _, execution in done]

    return asyncio.run(episode())


def test_a_server_answers_as_files_do(server):
    tables, columns, query = run(server, "SHOW TABLES", "DESC hat", "SELECT name, price FROM hat WHERE name = 'fez'")
    assert tables.result == "Results: Table hat has hat_id (type: NUMBER), name (type: TEXT), price (type: NUMBER)."
    assert [row[0] for row in columns.values[0]["rows"]] == ["hat_id", "name", "price"]
    assert (query.values[0]["rows"], query.ends) == ([["Fez", 12.5]], True)


def test_a_server_compares_texts_with_numbers_as_copies_are_made_to(server):
    found = run(server, *(text for text, _ in COMPARED), database="parts", turns="50")
    assert [one.message for one in found] == [""] * len(COMPARED)
    assert [one.values[0]["rows"] for one in found] == [rows for _, rows in COMPARED]


def test_a_server_reads_and_writes_dates_as_copies_do(server):
    (found,) = run(server, "SELECT " + ", ".join(f"CAST({text} AS CHAR)" for text, _ in DATES), database="parts")
    assert found.values[0]["rows"] == [[value for _, value in DATES]]


def test_a_server_runs_a_statement_with_comments(server):
    executions = run(server, *(text for text, _ in COMMENTED), turns="50")
    assert [execution.message for execution in executions] == [""] * len(COMMENTED)
    assert [execution.values[0]["rows"] for execution in executions] == [rows for _, rows in COMMENTED]


def test_a_server_is_sent_no_second_statement(server):
    executions = run(server, *SEVERAL, "SELECT count(*) FROM hat", writes="yes")
    assert {execution.status for execution in executions[:-1]} == {"several"}
    assert executions[-1].values[0]["rows"] == [[2]]


def test_a_servers_catalogue_shows_the_tasks_database_alone(server):
    texts = [text for text, _ in CATALOGUE]
    found = run(server, *texts, "SELECT * FROM information_schema.processlist", database="parts", turns="50")
    expected = [
        [[str(value).replace("shop", "parts") if isinstance(value, str) else value for value in row] for row in rows]
        for _, rows in CATALOGUE
    ]
    assert [one.message for one in found[:-1]] == [""] * len(texts)
    counted = texts.index("SELECT count(*) FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA <> 'shop'")
    expected[counted] = [[2]]  # here the name of this database is another one
    assert [one.values[0]["rows"] for one in found[:-1]] == expected
    assert found[-1].status == "refused"


def test_nothing_is_written_unless_it_is_allowed(server):
    refused, sleep, other = run(server, "DELETE FROM hat", "SELECT SLEEP(60)", "SELECT * FROM secret.x")
    assert [refused.status, sleep.status, other.status] == ["refused"] * 3


def test_what_is_written_is_rolled_back(server):
    texts = ("INSERT INTO hat VALUES (3, 'Cap', 8)", "UPDATE hat SET price = 1", "SELECT count(*), sum(price) FROM hat")
    assert run(server, *texts, writes="yes")[-1].values[0]["rows"] == [[3, 3]]
    assert run(server, "SELECT count(*), sum(price) FROM hat")[0].values[0]["rows"] == [[2, 42.5]]
    assert run(server, "DROP TABLE hat", writes="yes")[0].status == "refused"


def test_a_server_writes_what_a_copy_cannot(server):
    texts = (
        "REPLACE INTO hat VALUES (1, 'Kepi', 1)",
        "INSERT INTO hat VALUES (2, 'x', 1) ON DUPLICATE KEY UPDATE price = 5",
        "UPDATE hat JOIN (SELECT 1 AS hat_id) AS one USING (hat_id) SET hat.price = 3",
        "SELECT name, price FROM hat ORDER BY hat_id",
        "TRUNCATE TABLE hat",
        "SELECT count(*) FROM hat",
    )
    *changes, found, emptied, none = run(server, *texts, writes="yes", turns="9")
    assert [one.message for one in (*changes, emptied)] == [""] * 4
    assert found.values[0]["rows"] == [["Kepi", 3], ["Boater", 5]]
    assert none.values[0]["rows"] == [[0]]
    assert run(server, "SELECT count(*), sum(price) FROM hat")[0].values[0]["rows"] == [[2, 42.5]]


def test_a_long_query_is_ended(server):
    many = ", ".join(f"(SELECT 1 UNION SELECT 2 UNION SELECT 3) AS t{n}" for n in range(25))
    assert run(server, f"SELECT count(*) FROM {many}")[0].status == "timeout"


def test_a_server_that_lets_nobody_in_is_the_machines_fault(server):
    with pytest.raises(InfrastructureError) as error:
        run(server, "SELECT 1", password="wrong-one")
    assert "wrong-one" not in str(error.value)
    with pytest.raises(InfrastructureError):
        run("mysql://127.0.0.1:1", "SELECT 1")
