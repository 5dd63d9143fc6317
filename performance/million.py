"""A store of a million steps, made by SQL: 100,000 episodes of eight jobs, as they would lie there after real work.

Nothing in it is read from anywhere; names and numbers follow from an episode's id, so that two stores are the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from sqlalchemy import Connection, text

from db.engine.connection import Database
from db.engine.migrate import upgrade
from db.journal.text_blocks import insert_texts
from db.kinds.states import ItemState
from db.models import Item
from db.queue.sums import add_counted
from performance.million_sql import PEOPLE, THINGS, digest, insert, pick, question, subgoal

PER_JOB = 12_500  #: episodes
BEGAN = 1_790_000_000  #: 2026-09-21, when the first job was submitted
PAGES = 2_000  #: long results


@dataclass(frozen=True, slots=True)
class Kind:
    """One job of the store."""

    id: str
    kind: str
    benchmark: str
    formulation: str
    samples: int = 1

    @property
    def dataset(self) -> str:
        return f"{self.benchmark}-{PER_JOB // self.samples}"


JOBS = (
    Kind("aaaaaaa2", "convert", "gsm8k", "annotation"),
    Kind("aaaaaaa3", "convert", "mawps", "annotation"),
    Kind("aaaaaaa4", "convert", "svamp", "annotation"),
    Kind("aaaaaaa5", "evaluate", "gsm8k", "iterative", 5),
    Kind("aaaaaaa6", "evaluate", "gsm8k", "one-pass", 5),
    Kind("aaaaaaa7", "evaluate", "svamp", "iterative", 5),
    Kind("aaaaaaa8", "infer", "hotpot_qa", "iterative", 5),
    Kind("aaaaaaa9", "infer", "mawps", "one-pass", 5),
)


def make_store(database: Database, per_job: int = PER_JOB) -> int:
    """Fill an empty database; returns how many steps it holds. With fewer episodes of a job, a smaller store."""
    upgrade(database)
    with database.writer.begin() as connection:
        _make_jobs(connection, per_job)
        _make_pages(connection)
        _make_episodes(connection)
        _make_steps(connection)
        _make_judgements(connection)
        add_counted(connection, 0, Item.state == ItemState.DONE)
    with database.writer.begin() as connection:
        connection.execute(text("ANALYZE"))
        tables = ("subgoal", "completion", "execution")
        return sum(connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in tables)


def _make_jobs(connection: Connection, per_job: int) -> None:
    tasks = 0
    first: dict[str, int] = {}
    for number, job in enumerate(JOBS):
        count = per_job // job.samples
        if job.dataset not in first:
            first[job.dataset] = tasks + 1
            insert(
                connection,
                "dataset",
                {
                    "digest": f"'{job.dataset}'",
                    "benchmark": f"'{job.benchmark}'",
                    "split": "'train'",
                    "licence": "'MIT'",
                    "rows": f"{count}",
                    "created_at": f"{BEGAN}",
                },
                "",
            )
            insert(
                connection,
                "task",
                {
                    "id": f"{tasks} + g.n",
                    "dataset": f"'{job.dataset}'",
                    "ordinal": "g.n - 1",
                    "row": "g.n",
                    "question": question("g.n"),
                    "inputs": "'{}'",
                    "gold": "'{\"answer\"\\: \"' || (g.n * 13 % 997) || '\"}'",
                },
                "FROM g",
                count,
            )
            tasks += count
        roles = (
            {} if job.kind == "convert" else {role: f"tgi://10.0.0.{number}:8080" for role in ("planner", "grounder")}
        )
        insert(
            connection,
            "job",
            {
                "id": f"'{job.id}'",
                "kind": f"'{job.kind}'",
                "pool": "'llm'",
                "digest": f"'{job.id}'",
                "spec": f"'{json.dumps({'agent': {'roles': roles}}).replace(':', chr(92) + ':')}'",
                "dataset": f"'{job.dataset}'",
                "benchmark": f"'{job.benchmark}'",
                "formulation": f"'{job.formulation}'",
                "agent": "''",
                "items": f"{per_job}",
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
                "split": "'train'",
                "seed": "0",
                "code_version": "'0'",
                "created_at": f"{BEGAN + 100_000 * number}",
                "main_metric": {"convert": "'executed'", "evaluate": "'accuracy'"}.get(job.kind, "''"),
            },
            "",
        )
        for role, url in roles.items():
            identity = json.dumps({"model": f"lumos-{role}-7b", "server": "made up"}).replace(":", r"\:")
            insert(
                connection,
                "job_endpoint",
                {
                    "job": f"'{job.id}'",
                    "role": f"'{role}'",
                    "url": "'" + url.replace(":", r"\:") + "'",
                    "identity": f"'{identity}'",
                    "seen_at": f"{BEGAN}",
                },
                "",
            )
        insert(
            connection,
            "item",
            {
                "id": f"{per_job * number} + g.n",
                "job": f"'{job.id}'",
                "ordinal": "g.n - 1",
                "task": f"{first[job.dataset]} + (g.n - 1) % {count}",
                "sample": f"(g.n - 1) / {count}",
                "state": "'done'",
                "claim": "1",
                "not_before_at": "0",
                "failures": "0",
                "deaths": "0",
                "batch": "0",
                "problem": "''",
            },
            "FROM g",
            per_job,
        )


def _make_pages(connection: Connection) -> None:
    """Long results, as pages of an encyclopedia would be."""
    random = Random(0)
    words = (*PEOPLE, *THINGS, "river", "was", "founded", "in", "the", "of", "and", "north", "1893")
    insert_texts(connection, {f"page-{number}": " ".join(random.choices(words, k=1_200)) for number in range(PAGES)})


def _make_episodes(connection: Connection) -> None:
    ending = (
        "CASE WHEN i.id % 50 = 7 THEN 'limit' WHEN i.id % 33 = 5 THEN 'no_answer' "
        "WHEN i.id % 70 = 9 THEN 'action_error' ELSE 'answered' END"
    )
    is_conversion = "j.kind = 'convert'"
    k = "(2 + i.id * 7 % 4)"
    calls = f"CASE WHEN {is_conversion} THEN 0 WHEN j.formulation = 'one-pass' THEN 2 ELSE 2 * {k} + 1 END"
    insert(
        connection,
        "episode",
        {
            "id": "i.id",
            "job": "i.job",
            "task": "i.task",
            "sample": "i.sample",
            "formulation": "j.formulation",
            "agent": "''",
            "origin": f"CASE WHEN {is_conversion} THEN 'converted' ELSE 'run' END",
            "split": "'train'",
            "licence": "'MIT'",
            "level": f"CASE WHEN {is_conversion} AND i.id % 9 > 0 THEN 'executed' ELSE '' END",
            "attempt": "1",
            "ending": ending,
            "answer": f"CASE WHEN {ending} = 'answered' THEN '' || (i.id * 13 % 997) END",
            "message": "''",
            "calls": calls,
            "prompt_tokens": f"({calls}) * 350",
            "completion_tokens": f"({calls}) * 40",
            "seconds": f"({calls}) * 0.8",
            "started_at": "j.created_at + i.ordinal",
            "finished_at": "j.created_at + i.ordinal + 10",
        },
        "FROM item i JOIN job j ON j.id = i.job ORDER BY i.id",
    )
    insert(
        connection,
        "attempt",
        {"episode": "e.id", "number": "1", "code_version": "'0'", "started_at": "e.started_at"},
        "FROM episode e ORDER BY e.id",
    )


def _make_steps(connection: Connection) -> None:
    """In the order in which they would arrive: planner, subgoal, grounder, action; one-pass asks once for each role."""
    episodes = "(SELECT *, 2 + id * 7 % 4 AS k FROM episode) e"
    once = "e.formulation <> 'iterative'"
    common_columns = {"episode": "e.id", "attempt": "1", "branch": "0", "command": digest(connection)}
    source = f"FROM {episodes} JOIN (SELECT n - 1 AS i FROM g) s ON s.i < e.k ORDER BY e.id, s.i"
    insert(
        connection,
        "subgoal",
        common_columns
        | {"position": f"CASE WHEN {once} THEN 1 + s.i ELSE 4 * s.i + 1 END", "number": "s.i + 1", "text": subgoal()},
        source,
        5,
    )
    error = "e.id * 5 % 101 = s.i"
    kind = pick("e.id", ("syntax", "undefined", "domain", "division", "limit"))
    name = pick("e.id + s.i", ("Calculator", "Calculator", "Calculator", "SetEquation", "SolveEquation", "Count"))
    page = "e.job = 'aaaaaaa8' AND s.i = 1"
    action = f"'R' || (s.i + 1) || ' = ' || {name} || '(' || (e.id * 13 % 997) || ' + ' || (s.i * 17) || ')'"
    insert(
        connection,
        "execution",
        common_columns
        | {
            "position": f"CASE WHEN {once} THEN e.k + 2 + s.i ELSE 4 * s.i + 3 END",
            "variables": "'[\"R' || (s.i + 1) || '\"]'",
            "name": name,
            "arguments": "(e.id * 13 % 997) || ' + ' || (s.i * 17)",
            "raw": action,
            "status": f"CASE WHEN {error} THEN {kind} ELSE 'ok' END",
            "result": f"CASE WHEN {page} OR {error} THEN '' ELSE '' || (e.id * 13 % 997 + s.i * 17) END",
            "result_block": f"CASE WHEN {page} THEN 'page-' || (e.id % {PAGES}) END",
            "outputs": '\'[{"kind"\\: "number", "text"\\: "\' || (e.id * 13 % 997 + s.i * 17) || \'"}]\'',
            "message": f"CASE WHEN {error} THEN 'It cannot be done.' ELSE '' END",
            "seconds": "0.0003",
        },
        source,
        5,
    )
    completion = common_columns | {
        "prompt_digest": digest(connection),
        "prefix": "NULL",
        "base": "CASE WHEN s.i > 1 THEN 2 * (s.i - 2) END",
        "delta": f"'<|user|>' || {question('e.task')} || {subgoal()} || '<|assistant|>'",
        "finish_reason": "'stop'",
        "prompt_tokens": "300 + e.id % 100",
        "completion_tokens": "30 + e.id % 20",
        "retries": "0",
        "replaced": "0",
        "seconds": "0.8",
        "waited": "0",
        "lost": "0",
        "queued": "0",
    }
    insert(
        connection,
        "completion",
        completion
        | {
            "position": "2 * s.i",
            "role": "CASE WHEN s.i % 2 = 0 THEN 'planner' ELSE 'grounder' END",
            "reply": f"CASE WHEN s.i = 2 * e.k THEN 'Yes, I will stop planning.' WHEN s.i % 2 = 0 THEN {subgoal()} "
            f"ELSE {action} END",
        },
        f"FROM {episodes} JOIN (SELECT n - 1 AS i FROM g) s ON s.i < e.calls WHERE e.formulation = 'iterative' "
        "ORDER BY e.id, s.i",
        11,
    )
    insert(
        connection,
        "completion",
        completion
        | {
            "position": "s.i * (e.k + 1)",
            "role": "CASE WHEN s.i = 0 THEN 'planner' ELSE 'grounder' END",
            "reply": f"CASE WHEN s.i = 0 THEN {subgoal()} || {subgoal()} || {subgoal()} ELSE {action} END",
        },
        f"FROM {episodes} JOIN (SELECT n - 1 AS i FROM g) s ON s.i < 2 WHERE e.formulation = 'one-pass' "
        "ORDER BY e.id, s.i",
        2,
    )


def _make_judgements(connection: Connection) -> None:
    right = "CASE WHEN e.ending = 'answered' AND (e.task * 31 + e.sample * 17) % 10 < 6 THEN 1.0 ELSE 0.0 END"
    for metric, kinds in (("accuracy", "evaluate"), ("strict", "evaluate"), ("executed", "convert")):
        insert(
            connection,
            "score",
            {"episode": "e.id", "metric": f"'{metric}'", "version": "'1'", "value": right, "detail": "''"},
            f"FROM episode e JOIN job j ON j.id = e.job WHERE j.kind = '{kinds}' ORDER BY e.id",
        )
    name = pick("e.id", ("ambiguous link", "undefined reference", "result stated", "wrong final answer"))
    insert(
        connection,
        "verdict",
        {
            "episode": "e.id",
            "module": pick("e.id", ("planner", "grounder")),
            "name": name,
            "rejects": "e.id % 4 > 0",
            "detail": "''",
        },
        "FROM episode e WHERE e.origin = 'converted' AND e.id % 9 < 2 ORDER BY e.id",
    )
    insert(
        connection,
        "label",
        {
            "episode": "e.id",
            "value": pick("e.id", ("right", "wrong", "unsure")),
            "note": "''",
            "labeller": "'somebody'",
            "labelled_at": "e.finished_at",
        },
        "FROM episode e WHERE e.id % 1000 = 1 ORDER BY e.id",
    )
