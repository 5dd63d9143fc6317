"""Open a database with half-done jobs in a separate folder, resume the jobs, read and compare the results.

`made_before_rooms.py` runs with the code before its modules were moved, `test_before_rooms.py` with the current code;
both import this module, which imports only modules that have the same path in both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, select, text

from db.engine.connection import Database
from tests.fake_endpoint import FakeEndpoint
from tests.integration.command_outputs import WIDTH, parse_output, run
from tests.integration.stored_database import jobs, make_port_replacement

HALF_DONE = ("infer, half done", "evaluate, half done", "convert, half done")
#: A fit of an engine that has been removed: it is read, but not resumed.
TRAINED = "train, half done"
#: Columns that were added later, as (table, column), and their values in older steps.
ADDED = {("completion", "parent"): None, ("execution", "parent"): None, ("tool_call", "provenance"): ""}
#: Tables of the database that were added later. Older jobs have no rows in them.
ADDED_ROWS = ("approval", "episode_artifact", "job_tag", "model", "training_step")
#: Tables of `lumos papers` that were added later; they come after the older ones.
ADDED_TABLES = (
    "sum2act-pass",
    "sum2act-win",
    "toolbench-pass",
    "toolbench-win",
    "stabletoolbench-sopr",
    "sum2act-visual",
    "openagi-1",
    "openagi-2",
    "openagi-3",
    "openagi-4",
)
#: Sentences in the JSON of `lumos papers`, which may change.
SENTENCES = ("status", "does")
#: Files of a build that are texts for people, or that `lumos dataset show --json` prints.
BUILD_TEXTS = ("README.md", "manifest.json")
#: Columns of durations, users and code versions, which differ in each run. So do times, whose names end with `_at`.
OF_ONE_RUN = {"seconds", "waited", "lost", "queued", "session", "code_version", "tokens_per_second"}
#: Durations in the report of a job that runs: they end now.
UNTIL_NOW = ("seconds", "rows_per_second", "phases", "latency")  # the last two are of ended work
#: Durations in the report of a job that ended; `phases` and `latency` contain only durations.
DURATIONS = (*UNTIL_NOW, "tokens_per_second")
LOSSES = ("loss",)
_EXIT_CODE = "exit code "  #: the beginning of each output of a command
#: A published file whose rows can be of any split.
_OF_ANY_SPLIT = "asdiv/ASDiv.xml"


def make_environment(home: Path, database_url: str = "") -> dict[str, str]:
    """Return the environment of commands on the database in this folder, or at this address."""
    return {
        "LUMOS_HOME": str(home),
        "LUMOS_DATABASE_URL": database_url,
        "LUMOS_USER": "somebody",
        "COLUMNS": WIDTH,
        "LUMOS_CONCURRENCY": "4",
        "LUMOS_POLL_SECONDS": "0.2",
        "LUMOS_LEASE_SECONDS": "60",
    }


def make_replacements(home: Path, step_server: FakeEndpoint, plan_server: FakeEndpoint) -> dict[str, str]:
    """Return the words of the files that stand for addresses and folders, with their values in this run."""
    return make_port_replacement(step_server.port) | {
        "127.0.0.1:OTHER": f"127.0.0.1:{plan_server.port}",
        "HOME": str(home),
    }


def replace_locations(outputs: Any, home: Path, step_server: FakeEndpoint, plan_server: FakeEndpoint) -> Any:
    """Return outputs with the words of the files instead of addresses and folders."""
    encoded_outputs = json.dumps(outputs)
    for word, location in make_replacements(home, step_server, plan_server).items():
        encoded_outputs = encoded_outputs.replace(location, word)
    return json.loads(encoded_outputs)


def verify_rows(database: Database) -> None:
    """Record the stored rows as those of a published file.

    Rows of earlier versions count as not verified, so their licence is unknown and their scores are not shown beside
    published figures (docs/decisions/0054-verified-rows.md). Earlier versions showed both.
    """
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE dataset SET published = :file"), {"file": _OF_ANY_SPLIT})


def resume_job(job: str) -> None:
    """Work on a stored job until it is done, as `lumos resume` does."""
    output = run("resume", job, "--json")
    if not output.startswith("exit code 0"):
        raise RuntimeError(output)


def load_finished_jobs(database: Database) -> dict[str, Any]:
    """Return the report of each job that was killed and then done, and its rows by table."""
    outcomes: dict[str, Any] = {}
    for project in HALF_DONE:
        job = jobs(database)[project]
        outcomes[f"{project}: report"] = parse_output(run("report", job, "--json"))
        outcomes[f"{project}: rows"] = load_rows(database, job)
    return outcomes


def load_rows(database: Database, job: str) -> dict[str, list[Any]]:
    """Return, by table, every row of a job, its items and its episodes, abandoned attempts included.

    Columns that vary are left out. Items and episodes keep the ids of the file. Long texts are digests.
    """
    tables, rows_by_table = MetaData(), {}
    with database.engine.connect() as connection:
        tables.reflect(connection)
        episode, task = tables.tables["episode"], tables.tables["task"]
        episodes = select(episode.c.id).where(episode.c.job == job)
        query = select(episode.c.id, task.c.question).join(task, task.c.id == episode.c.task)
        questions = {key: question.strip() for key, question in connection.execute(query.where(episode.c.job == job))}
        for table in tables.sorted_tables:
            if table.name == "job":
                whose = table.c.id == job
            elif "job" in table.c:
                whose = table.c.job == job
            elif "episode" in table.c:
                whose = table.c.episode.in_(episodes)
            else:
                continue
            rows = [
                _remove_varying(table.name, _restore_texts(dict(row), questions))
                for row in connection.execute(select(table).where(whose)).mappings()
            ]
            if rows or table.name not in ADDED_ROWS:
                rows_by_table[table.name] = _sort(rows)
    return rows_by_table


def _restore_texts(row: dict[str, Any], questions: dict[int, str]) -> dict[str, Any]:
    """Return a row in its older form: digests as text, and prompts with the question, which is now stored apart."""
    row = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
    position = row.pop("question_at", None)
    if position is not None:
        row["delta"] = f"{row['delta'][:position]}{questions[row['episode']]}{row['delta'][position:]}"
    return row


def _remove_varying(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without the columns that vary, and without the durations in the output of a window."""
    counters = {"id"} if table == "job_endpoint" else set()  # the order of calls varies
    retained = {
        name: value for name, value in row.items() if not name.endswith("_at") and name not in OF_ONE_RUN | counters
    }
    retained = {
        name: value for name, value in retained.items() if (table, name) not in ADDED or value != ADDED[table, name]
    }
    if isinstance(retained.get("output"), dict):
        retained["output"] = {name: value for name, value in retained["output"].items() if name not in OF_ONE_RUN}
    return retained


def find_differences(before: dict[str, Any], now: dict[str, Any], running_jobs: Collection[str] = ()) -> dict[str, str]:
    """Return a description of each output that must be equal and differs, by name."""
    descriptions = {name: "is there only before, or only now" for name in before.keys() ^ now.keys()}
    for name in before.keys() & now.keys():
        old_output, new_output = (select_comparable(name, output, running_jobs) for output in (before[name], now[name]))
        new_output = _remove_added_names(old_output, new_output)
        if old_output != new_output:
            lines = [json.dumps(output, indent=1, sort_keys=True).splitlines() for output in (old_output, new_output)]
            descriptions[name] = "\n".join(list(unified_diff(*lines, "before", "now", lineterm="", n=1))[:20])
    return dict(sorted(descriptions.items()))


def _remove_added_names(before: Any, now: Any) -> Any:
    """Return `now` without the names that JSON objects did not have before: programs ignore additional names."""
    if isinstance(before, dict) and isinstance(now, dict):
        return {name: _remove_added_names(before[name], value) for name, value in now.items() if name in before}
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [_remove_added_names(old_part, new_part) for old_part, new_part in zip(before, now, strict=True)]
    return now


def select_comparable(name: str, output: Any, running_jobs: Collection[str] = ()) -> Any:
    """Return the part of an output that must be equal. `running_jobs`: ids of jobs whose reports end now.

    Of JSON, rows of queries and files of a build that is every value. Of a text for people it is the exit code:
    `--json` prints the same facts.
    """
    if name.startswith("builds/"):  # a digest
        return output if Path(name).name not in BUILD_TEXTS else ""
    if isinstance(output, str):
        return output.splitlines()[0]
    if name.endswith(": rows"):
        return _change_numbers(_shorten_digests(output), LOSSES, _round_loss)
    # Rows of a query are lists, and stay as they are.
    lines = [_line(line) for line in output if not isinstance(line, str) or line.startswith(_EXIT_CODE)]
    if name.startswith("report ") and name.split()[1] in running_jobs:
        return [line | dict.fromkeys(UNTIL_NOW, 0) if isinstance(line, dict) else line for line in lines]
    if name.endswith(": report"):
        lines = [line | _sum_versions(line) if isinstance(line, dict) else line for line in lines]
        return _change_numbers(_change_numbers(lines, DURATIONS, lambda _: 0), LOSSES, _round_loss)
    return _select_papers(lines) if name.split()[0] == "tables" else lines


def _shorten_digests(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return rows by table, with digests of commands and prompts cut to the length that is stored now."""
    return {
        table: _sort(
            [
                {name: value[:32] if name in ("command", "prompt_digest") else value for name, value in row.items()}
                for row in table_rows
            ]
        )
        for table, table_rows in rows.items()
    }


def _select_papers(lines: list[Any]) -> list[Any]:
    """Return the output of `lumos papers --json` without the tables that were added later, and without sentences."""
    return [
        {"tables": [_remove_names(table, SENTENCES) for table in line["tables"] if table["table"] not in ADDED_TABLES]}
        if isinstance(line, dict)
        else line
        for line in lines
    ]


def _remove_names(value: Any, names: Collection[str]) -> Any:
    """Return the value without these names, at any depth."""
    if isinstance(value, dict):
        return {name: _remove_names(part, names) for name, part in value.items() if name not in names}
    return [_remove_names(part, names) for part in value] if isinstance(value, list) else value


def _sum_versions(report: dict[str, Any]) -> dict[str, Any]:
    """Return the number of episodes of all code versions: a job that other code resumed has two."""
    versions = report.get("code_versions")
    return {} if versions is None else {"code_versions": sum(version["episodes"] for version in versions)}


def _line(line: Any) -> Any:
    if isinstance(line, dict) and "episode" in line:  # no ORDER BY puts an episode's scores and verdicts in order
        return {name: _sort(value) if name in ("scores", "verdicts") else value for name, value in line.items()}
    return line


def _sort(values: list[Any]) -> list[Any]:
    return sorted(values, key=partial(json.dumps, sort_keys=True))


def _round_loss(loss: float) -> float:
    """Round a loss, whose last digits depend on the processor."""
    return round(loss, 2)


def _change_numbers(value: Any, names: Collection[str], change: Callable[[Any], Any], is_named: bool = False) -> Any:
    """Return the value with every number changed that is below one of the names, at any depth."""
    if isinstance(value, dict):
        return {name: _change_numbers(part, names, change, is_named or name in names) for name, part in value.items()}
    if isinstance(value, list):
        return [_change_numbers(part, names, change, is_named) for part in value]
    return change(value) if is_named and isinstance(value, float) else value
