"""SQLite and PostgreSQL: the same tables, the same migrations, the same rows, however hostile the input."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from db.engine.connection import open_database
from db.engine.migrate import current, downgrade, head, upgrade
from db.journal.step_records import load_steps
from db.journal.text_blocks import insert_texts
from db.models import Base
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.convert import Convert
from lumos_queue.submission.store import read_rows
from lumos_queue.util.sanitize import storable_json
from tests.stored_rows import read_stored_rows, run_embedded


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request, tmp_path):
    """A database without tables."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'empty.db'}"
    else:
        url = request.getfixturevalue("postgres_server").fresh(template="template1")
    database = open_database(url)
    yield database
    database.close()


def test_the_migrations_make_the_tables_of_the_models(empty):
    upgrade(empty)
    with empty.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "render_as_batch": True})
        assert compare_metadata(context, Base.metadata) == []


def test_the_migrations_run_down_and_up_again(empty):
    upgrade(empty)
    assert current(empty) == head()
    downgrade(empty, "base")
    with empty.engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) <= {"alembic_version"}
    upgrade(empty)
    assert current(empty) == head()
    with empty.engine.connect() as connection:
        assert set(Base.metadata.tables) <= set(inspect(connection).get_table_names())


def test_what_0001_stored_is_there_after_the_later_migrations(empty):
    upgrade(empty, "0001")
    head_text = "Please plan. " * 300
    rows = {
        "dataset": {"digest": "d", "benchmark": "b", "split": "", "licence": "", "rows": 1, "created_at": 0},
        "job": {
            "id": "j",
            "kind": "infer",
            "pool": "llm",
            "digest": "x",
            "spec": "{}",
            "dataset": "d",
            "benchmark": "b",
            "formulation": "",
            "agent": "",
            "items": 1,
            "ordered": False,
            "state": "running",
            "waiting": "",
            "not_before_at": 0,
            "project": "",
            "submitted_by": "",
            "priority": 0,
            "origin": "run",
            "licence": "",
            "split": "",
            "seed": 0,
            "code_version": "",
            "created_at": 0,
        },
        "item": {
            "id": 1,
            "job": "j",
            "ordinal": 0,
            "sample": 0,
            "state": "owed",
            "claim": 1,
            "not_before_at": 0,
            "failures": 0,
            "deaths": 0,
            "problem": "",
        },
        "episode": {
            "id": 1,
            "job": "j",
            "task": 1,
            "sample": 0,
            "formulation": "",
            "agent": "",
            "origin": "run",
            "split": "",
            "licence": "",
            "attempt": 1,
            "ending": "",
            "message": "",
            "calls": 1,
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "seconds": 0,
        },
        "text_block": {"digest": "old", "text": head_text},
        "completion": {
            "episode": 1,
            "attempt": 1,
            "position": 0,
            "branch": 0,
            "command": "c0" * 32,
            "role": "planner",
            "prompt_digest": "d0" * 32,
            "prefix": "old",
            "delta": "Task",
            "reply": "Yes",
            "finish_reason": "stop",
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "retries": 0,
            "replaced": 0,
            "seconds": 1,
        },
    }

    def prompts() -> list[str]:
        with empty.engine.connect() as connection:
            return [step.prompt for step in load_steps(connection, {1: 1})[1]]

    with empty.writer.begin() as connection:
        for table, row in rows.items():
            names = ", ".join(f'"{name}"' for name in row)
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{n}' for n in row)})"), row)
    upgrade(empty)
    assert prompts() == [head_text + "Task"]
    long = storable_json({"text": "y" * 5_000})
    with empty.writer.begin() as connection:
        insert_texts(connection, {"r": long["text"], "o": json.dumps([long])})
        connection.execute(
            text(
                "INSERT INTO execution (episode, attempt, position, branch, command, variables, name, arguments, raw, "
                "status, result, result_block, outputs_block, message, seconds) VALUES "
                "(1, 1, 1, 0, :command, '[]', 'A', '', '', 'ok', '', 'r', 'o', '', 0)"
            ),
            {"command": bytes(16)},
        )
    downgrade(empty, "0001")
    with empty.engine.connect() as connection:
        prefix = text("SELECT text FROM text_block t, completion c WHERE c.prefix = t.digest")
        assert connection.execute(prefix).scalar() == head_text
        result, outputs = connection.execute(text("SELECT result, outputs FROM execution")).one()
        assert result == long["text"]
        assert (json.loads(outputs) if isinstance(outputs, str) else outputs) == [long]
    upgrade(empty)
    assert prompts()[0] == head_text + "Task"


def gsm8k_line(question: str, answer: str) -> str:
    return json.dumps({"question": question, "answer": answer})


MARKED = "She has <<2+3=5>>5 apples.\n#### 5"
HOSTILE = [
    gsm8k_line("Plain: how many?", MARKED),
    gsm8k_line("NUL \0 in the question?", MARKED),
    gsm8k_line("Lone surrogates \ud800 and \udfff?", MARKED),  # JSON escapes them: the file itself is good UTF-8
    gsm8k_line("Pairs \U0001f34e, separators \u2028 and marks \ufeff \u202e?", MARKED),
    gsm8k_line("Ten megabytes: " + "apple " * 1_750_000 + "?", MARKED),
    gsm8k_line("Quotes ' \" ; -- %s :name {x} \\ $1?", MARKED),
    gsm8k_line("NUL in the rationale?", "She \0 has <<2+3=5>>5 \ud83c apples.\n#### 5"),
    gsm8k_line("No number?", "It is <<0/0=NaN>>NaN.\n#### NaN"),
    gsm8k_line("Endless?", "It is <<1/0=inf>>Infinity.\n#### Infinity"),
    gsm8k_line("Huge?", "It is <<9**9**9=1>>1.\n#### 1" + "0" * 400),
    gsm8k_line("Wrong?", "She has <<2+3=6>>6 apples.\n#### 6"),
]


def test_hostile_rows_give_the_same_on_both_databases(tmp_path, postgres_url):
    file = tmp_path / "hostile.jsonl"
    file.write_text("\n".join(HOSTILE) + "\n", encoding="utf-8")
    rows = read_rows(open_benchmark("gsm8k"), file, "test", skip_bad_rows=True)
    assert len(rows.tasks) + len(rows.bad) == len(HOSTILE) and len(rows.tasks) >= 7
    job = Convert("gsm8k", rows.digest, "test")
    sqlite, first = run_embedded(tmp_path / "sqlite", job, rows)
    postgres, second = run_embedded(tmp_path / "postgres", job, rows, url=postgres_url)
    found = read_stored_rows(sqlite, first)
    assert len(found) == len(rows.tasks)
    assert found == read_stored_rows(postgres, second)
    texts = json.dumps(list(found.values()), allow_nan=False, default=bytes.hex)
    assert "\\u0000" not in texts and "\\ud800" not in texts
    assert any(len(episode["question"]) > 10_000_000 for episode in found.values())
    for database in (sqlite, postgres):
        database.close()


def test_values_that_json_cannot_hold_are_stored_alike(tmp_path, postgres_url):
    """Rows made by hand: what a reader of ours would refuse may yet come from a benchmark of somebody else."""
    rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
    gold = dict(rows.tasks[0].gold)
    odd = [
        {**gold, "answer": math.nan},
        {**gold, "answer": math.inf},
        {**gold, "answer": "\0\ud800"},
        {**gold, "answer": 10**400},
        {**gold, "answer": None, "no\0te": ["\udfff", {"deep": -math.inf}]},
        {"steps": "none"},
        None,
    ]
    tasks = tuple(
        replace(rows.tasks[0], row=f"odd {number}", gold=storable_json(value), dataset="odd")
        for number, value in enumerate(odd)
    )
    rows = replace(rows, tasks=tasks, digest="odd")
    job = Convert("wordmath", "odd", "dev")
    sqlite, first = run_embedded(tmp_path / "sqlite", job, rows)
    postgres, second = run_embedded(tmp_path / "postgres", job, rows, url=postgres_url)
    found = read_stored_rows(sqlite, first)
    assert len(found) == len(odd) and found == read_stored_rows(postgres, second)
    for database in (sqlite, postgres):
        database.close()


@pytest.mark.parametrize("by", ["the server", "this side"])
def test_a_connection_that_was_closed_meanwhile_is_replaced(postgres_server, postgres_url, by):
    database = open_database(postgres_url)
    with database.engine.connect() as connection:
        driver = connection.connection.driver_connection
        backend = connection.execute(text("SELECT pg_backend_pid()")).scalar()
    if by == "the server":
        postgres_server.execute(f"SELECT pg_terminate_backend({backend}, 5000)")
    else:
        driver.close()
    with database.engine.connect() as connection:
        assert connection.execute(text("SELECT pg_backend_pid()")).scalar() != backend
    database.close()
