"""Finished evaluations by the hundred thousand, made by SQL: jobs of one dataset, whose answers differ as agents' do.

python -m performance.stored_jobs URL [--jobs 8] [--episodes 125000] [--samples 1] [--calls 2]

Leaner than performance/million.py, which has eight times as many steps for each episode. Nothing is read from
anywhere: two stores of the same size are the same, but for digests.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, text

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.journal.text_blocks import insert_texts
from db.models import Item
from db.queue.sums import add_counted
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from performance.million_sql import digest, insert, question

BEGAN = 1_790_000_000  #: 2026-09-21, when the first job was submitted
DATASET = "stored-jobs-gsm8k"
ROLES = ("planner", "grounder")
CODE = "stored"  #: the code version of all episodes


@dataclass(frozen=True, slots=True)
class Shape:
    """How much is stored."""

    jobs: int = 8
    episodes: int = 125_000  #: of each job
    samples: int = 1  #: of each task
    calls: int = 2  #: model calls of each episode
    failures: bool = True  #: whether one episode in 997 ended with infra_error


def job_id(number: int) -> str:
    """The id of job `number`, from 0."""
    return f"stored{chr(97 + number // 26)}{chr(97 + number % 26)}"


def make_stored_jobs(database: Database, shape: Shape = Shape()) -> list[str]:
    """Fill an empty database; returns the ids of its jobs. Odd jobs are `one-pass`, all have another model."""
    upgrade(database)
    jobs = [job_id(number) for number in range(shape.jobs)]
    with database.writer.begin() as connection:
        insert_texts(connection, {f"head-{role}": f"You are the {role}. " * 40 for role in ROLES})
        _insert_tasks(connection, shape)
        for number in range(shape.jobs):
            _insert_job(connection, shape, number)
        _insert_episodes(connection, shape.calls)
        _insert_steps(connection, shape)
        _insert_scores(connection)
    with database.writer.begin() as connection:
        add_counted(connection, 0, Item.job.in_(jobs))
    with database.writer.begin() as connection:
        connection.execute(text("ANALYZE"))
    return jobs


def _insert_tasks(connection: Connection, shape: Shape) -> None:
    count = shape.episodes // shape.samples
    insert(
        connection,
        "dataset",
        {
            "digest": f"'{DATASET}'",
            "benchmark": "'gsm8k'",
            "split": "'test'",
            "licence": "'MIT'",
            "rows": f"{count}",
            "complete": "true",
            "created_at": f"{BEGAN}",
        },
        "",
    )
    insert(
        connection,
        "task",
        {
            "id": "g.n",
            "dataset": f"'{DATASET}'",
            "ordinal": "g.n - 1",
            "row": "g.n",
            "question": question("g.n"),
            "inputs": "'{}'",
            "gold": "'{\"answer\"\\: \"' || (g.n * 13 % 997) || '\"}'",
        },
        "FROM g",
        count,
    )


def _insert_job(connection: Connection, shape: Shape, number: int) -> None:
    count, job = shape.episodes // shape.samples, job_id(number)
    formulation = ("iterative", "one-pass")[number % 2]
    agent = Agent(roles={role: f"tgi://10.0.0.{number + 1}:8080" for role in ROLES}, domain="maths")
    spec = Evaluate(Infer("gsm8k", DATASET, "test", formulation, agent, samples=shape.samples)).as_json()
    insert(
        connection,
        "job",
        {
            "id": f"'{job}'",
            "kind": "'evaluate'",
            "pool": "'llm'",
            "digest": f"'{job}'",
            "spec": _quote(spec),
            "dataset": f"'{DATASET}'",
            "benchmark": "'gsm8k'",
            "formulation": f"'{formulation}'",
            "agent": f"'{number}'",
            "items": f"{shape.episodes}",
            "ordered": "false",
            "state": "'done'",
            "waiting": "''",
            "not_before_at": "0",
            "waits": "0",
            "project": "'default'",
            "submitted_by": "'nobody'",
            "priority": "0",
            "origin": "'run'",
            "licence": "'MIT'",
            "split": "'test'",
            "seed": "0",
            "code_version": f"'{CODE}'",
            "name": f"'stored {number}'",
            "main_metric": "'accuracy'",
            "chosen": "''",
            "created_at": f"{BEGAN + 200_000 * number}",
            "started_at": f"{BEGAN + 200_000 * number + 1}",
            "finished_at": f"{BEGAN + 200_000 * number + shape.episodes + 10}",
        },
        "",
    )
    for role, url in agent.roles.items():
        insert(
            connection,
            "job_endpoint",
            {
                "job": f"'{job}'",
                "role": f"'{role}'",
                "url": "'" + url.replace(":", r"\:") + "'",
                "identity": _quote({"model": f"lumos-{role}-{number}", "server": "made up"}),
                "seen_at": f"{BEGAN}",
            },
            "",
        )
    key = f"({shape.episodes * number} + g.n)"
    failures = f"CASE WHEN {key} % 997 = 5 THEN 6 ELSE 0 END" if shape.failures else "0"
    insert(
        connection,
        "item",
        {
            "id": key,
            "job": f"'{job}'",
            "ordinal": "g.n - 1",
            "task": f"1 + (g.n - 1) % {count}",
            "sample": f"(g.n - 1) / {count}",
            "state": "'done'",
            "claim": "1",
            "not_before_at": "0",
            "failures": failures,
            "deaths": "0",
            "batch": "0",
            "problem": "''",
        },
        "FROM g",
        shape.episodes,
    )


def _quote(value: object) -> str:
    return "'" + json.dumps(value).replace("'", "''").replace(":", r"\:") + "'"


def _insert_episodes(connection: Connection, calls: int) -> None:
    ending = (
        "CASE WHEN i.failures > 0 THEN 'infra_error' WHEN i.id % 50 = 7 THEN 'limit' "
        "WHEN i.id % 33 = 5 THEN 'no_answer' WHEN i.id % 70 = 9 THEN 'action_error' ELSE 'answered' END"
    )
    insert(
        connection,
        "episode",
        {
            "id": "i.id",
            "job": "i.job",
            "task": "i.task",
            "sample": "i.sample",
            "formulation": "j.formulation",
            "agent": "j.agent",
            "origin": "'run'",
            "split": "'test'",
            "licence": "'MIT'",
            "level": "''",
            "attempt": "1",
            "ending": ending,
            "answer": f"CASE WHEN {ending} = 'answered' THEN '' || (i.id * 13 % 997) END",
            "message": f"CASE WHEN {ending} = 'infra_error' THEN 'the server is gone' ELSE '' END",
            "calls": f"{calls}",
            "prompt_tokens": f"{calls} * (300 + i.id % 100)",
            "completion_tokens": f"{calls} * (30 + i.id % 20)",
            "seconds": "1.5 + i.id % 7",
            "started_at": "j.created_at + i.ordinal",
            "finished_at": "j.created_at + i.ordinal + 10",
        },
        "FROM item i JOIN job j ON j.id = i.job ORDER BY i.id",
    )
    insert(
        connection,
        "attempt",
        {"episode": "e.id", "number": "1", "code_version": f"'{CODE}'", "started_at": "e.started_at"},
        "FROM episode e ORDER BY e.id",
    )


def _insert_steps(connection: Connection, shape: Shape) -> None:
    """Model calls by turns of planner and grounder, then one subgoal and one action."""
    common_columns = {"episode": "e.id", "attempt": "1", "branch": "0", "command": digest(connection)}
    if shape.calls:
        role = "CASE WHEN g.n % 2 = 1 THEN 'planner' ELSE 'grounder' END"
        insert(
            connection,
            "completion",
            common_columns
            | {
                "position": "g.n - 1",
                "role": role,
                "prompt_digest": digest(connection),
                "prefix": f"'head-' || {role}",
                "delta": "'Question ' || e.task",
                "reply": "'R1 = Calculator(' || (e.id * 13 % 997) || ' + 17)'",
                "finish_reason": "'stop'",
                "prompt_tokens": "300 + e.id % 100",
                "completion_tokens": "30 + e.id % 20",
                "retries": "0",
                "replaced": "0",
                "seconds": "0.5 + 0.25 * (e.id % 4)",
                "waited": "0",
                "lost": "0",
                "queued": "0",
                "note": "''",
            },
            "FROM episode e, g ORDER BY e.id, g.n",
            shape.calls,
        )
    insert(
        connection,
        "subgoal",
        common_columns
        | {"position": "100", "number": "1", "text": "'Subgoal 1\\: Calculate ' || (e.id * 13 % 997) || ' + 17.'"},
        "FROM episode e ORDER BY e.id",
    )
    insert(
        connection,
        "execution",
        common_columns
        | {
            "position": "101",
            "variables": "'[\"R1\"]'",
            "name": "'Calculator'",
            "raw": "''",
            "arguments": "(e.id * 13 % 997) || ' + 17'",
            "status": "'ok'",
            "result": "'' || (e.id * 13 % 997 + 17)",
            "outputs": "'[]'",
            "message": "''",
            "seconds": "0.25",
        },
        "FROM episode e ORDER BY e.id",
    )


def _insert_scores(connection: Connection) -> None:
    """Tasks are hard or easy for all jobs, and each job is lucky on other tasks, with other samples."""
    number = "(e.id - 1) / j.items"
    hardness = "e.task * 7919 % 1000"
    luck = f"(e.task * 104729 + ({number}) * 15485863 + e.sample * 32452843) % 1000"
    right = f"CASE WHEN e.ending = 'answered' AND {hardness} + {luck} < 1150 + 20 * ({number}) THEN 1.0 ELSE 0.0 END"
    insert(
        connection,
        "score",
        {"episode": "e.id", "metric": "'accuracy'", "version": "'1'", "value": right, "trials": "1", "detail": "''"},
        "FROM episode e JOIN job j ON j.id = e.job WHERE e.ending <> 'infra_error' ORDER BY e.id",
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("url", help="of an empty database: sqlite:///FILE or postgresql+psycopg://…")
    for name in ("jobs", "episodes", "samples", "calls"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Shape(), name))
    options = parser.parse_args()
    if options.url.startswith("sqlite:///") and Path(options.url.removeprefix("sqlite:///")).exists():
        parser.error(f"{options.url} is there already: name a new file")
    began, database = time.perf_counter(), open_database(options.url)
    try:
        jobs = make_stored_jobs(database, Shape(options.jobs, options.episodes, options.samples, options.calls))
    finally:
        database.close()
    print(f"{', '.join(jobs)}: {options.jobs * options.episodes:,} episodes in {time.perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
