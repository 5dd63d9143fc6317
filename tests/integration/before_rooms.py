"""How a database with half-done jobs is opened in a folder of its own, gone on with, read and compared.

This is what `made_before_rooms.py`, run by the code before its modules were moved, and `test_before_rooms.py`, run by
that of today, have in common: it imports nothing that has another place in one of the two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import MetaData, select

from db.connection import Database
from tests.fake_endpoint import FakeEndpoint
from tests.integration.command_outputs import WIDTH, run, values
from tests.integration.stored_database import at, jobs

HALF_DONE = ("infer, half done", "evaluate, half done", "convert, half done")
#: A fit of an engine that is no longer there: it is read, and not gone on with.
TRAINED = "train, half done"
#: Columns that were added since, as (table, column), and what they hold of steps as they were before.
ADDED = {("completion", "parent"): None, ("execution", "parent"): None, ("tool_call", "provenance"): ""}
#: Tables of the database that were added since. Jobs of before have no rows in them.
ADDED_ROWS = ("approval", "episode_artifact", "job_tag", "model", "training_step")
#: Tables of `lumos papers` that were added since; they come after those of before.
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
_ADDED_TABLES = re.compile(rf"^Table {ADDED_TABLES[0]}:.*?(?=^\* trained)", re.MULTILINE | re.DOTALL)
#: Columns that say how long something took, who did it and by which code. So do those that end with `_at`: when.
OF_ONE_RUN = {"seconds", "waited", "lost", "queued", "session", "code_version", "tokens_per_second"}
#: Durations in the report of a job that runs: until now, as nothing else in it goes on.
UNTIL_NOW = ("seconds", "rows_per_second", "phases", "latency")  # the last two now are of what has ended
#: Durations in the report of a job that was worked on; `phases` and `latency` have nothing else.
DURATIONS = (*UNTIL_NOW, "tokens_per_second")
LOSSES = ("loss",)
_SECONDS = re.compile(r"^ (seconds|time in|mean call of)[^\n]+", re.MULTILINE)
#: The lines with address and fields of each request, and with its images, which `lumos show --prompts` has had since.
_REQUESTS = re.compile(r"^(?:\w+:\S+: (?:model|max_tokens|max_new_tokens) .*|\[sha256:[0-9a-f]{64}\])$", re.MULTILINE)
#: Of reports side by side: what heads a column since is what the jobs differ in, addresses of their models too.
_HEADINGS = re.compile(r"^(?:evaluate|infer|convert) .*\n(?:.*\n)*? ─+ *$", re.MULTILINE)
_FIGURE = re.compile(r"-?\d[\d,.]*")


def environment(home: Path, database_url: str = "") -> dict[str, str]:
    """The settings of the command line for the database in this folder, or at this address."""
    return {
        "LUMOS_HOME": str(home),
        "LUMOS_DATABASE_URL": database_url,
        "LUMOS_USER": "somebody",
        "COLUMNS": WIDTH,
        "LUMOS_CONCURRENCY": "4",
        "LUMOS_POLL_SECONDS": "0.2",
        "LUMOS_LEASE_SECONDS": "60",
    }


def places(home: Path, step_server: FakeEndpoint, plan_server: FakeEndpoint) -> dict[str, str]:
    """What stands in the files for what differs from one run to the other, and what it is in this one."""
    return at(step_server.port) | {"127.0.0.1:OTHER": f"127.0.0.1:{plan_server.port}", "HOME": str(home)}


def with_words(outputs: Any, home: Path, step_server: FakeEndpoint, plan_server: FakeEndpoint) -> Any:
    """What was found, as the files say it."""
    text = json.dumps(outputs)
    for word, location in places(home, step_server, plan_server).items():
        text = text.replace(location, word)
    return json.loads(text)


def go_on(job: str) -> None:
    """Work on a stored job until it is done, as `lumos resume` does."""
    output = run("resume", job, "--json")
    if not output.startswith("exit code 0"):
        raise RuntimeError(output)


def finished(database: Database) -> dict[str, Any]:
    """Of each job that was killed, when it is done: its report, and its rows by table."""
    outcomes: dict[str, Any] = {}
    for project in HALF_DONE:
        job = jobs(database)[project]
        outcomes[f"{project}: report"] = values(run("report", job, "--json"))
        outcomes[f"{project}: rows"] = stored(database, job)
    return outcomes


def stored(database: Database, job: str) -> dict[str, list[Any]]:
    """By table: every row of a job, of its items and of its episodes, abandoned attempts included, as they last.

    The ids of items and episodes are those with which they were loaded. Of long texts there are the digests.
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
                _remove_varying(table.name, _as_before(dict(row), questions))
                for row in connection.execute(select(table).where(whose)).mappings()
            ]
            if rows or table.name not in ADDED_ROWS:
                rows_by_table[table.name] = _in_order(rows)
    return rows_by_table


def _as_before(row: dict[str, Any], questions: dict[int, str]) -> dict[str, Any]:
    """A row with what was text then: digests, and prompts with the question that is left out of them since."""
    row = {name: value.hex() if isinstance(value, bytes) else value for name, value in row.items()}
    position = row.pop("question_at", None)
    if position is not None:
        row["delta"] = f"{row['delta'][:position]}{questions[row['episode']]}{row['delta'][position:]}"
    return row


def _remove_varying(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """A row without what is never twice the same. The windows of a fit say in their output how long they took."""
    counters = {"id"} if table == "job_endpoint" else set()  # up, in the order in which calls happen to be made
    retained = {
        name: value for name, value in row.items() if not name.endswith("_at") and name not in OF_ONE_RUN | counters
    }
    retained = {
        name: value for name, value in retained.items() if (table, name) not in ADDED or value != ADDED[table, name]
    }
    if isinstance(retained.get("output"), dict):
        retained["output"] = {name: value for name, value in retained["output"].items() if name not in OF_ONE_RUN}
    return retained


def differences(before: dict[str, Any], now: dict[str, Any], running_jobs: Collection[str] = ()) -> dict[str, str]:
    """By name: how what must be equal differs."""
    descriptions = {name: "is there only before, or only now" for name in before.keys() ^ now.keys()}
    for name in before.keys() & now.keys():
        if name.startswith(("jobs ", "job ")) and isinstance(now[name], str):
            continue  # other tables since; what they say is what the same commands do with `--json`
        pair = [
            comparable(name, output, running_jobs) for output in (before[name], _without_added(before[name], now[name]))
        ]
        if pair[0] != pair[1]:
            lines = [json.dumps(output, indent=1, sort_keys=True).splitlines() for output in pair]
            descriptions[name] = "\n".join(list(unified_diff(*lines, "before", "now", lineterm="", n=1))[:20])
    return dict(sorted(descriptions.items()))


def _without_added(before: Any, now: Any) -> Any:
    """What is now, without the names in JSON objects that were not there before: programs do not mind more of them."""
    if isinstance(before, dict) and isinstance(now, dict):
        return {name: _without_added(before[name], value) for name, value in now.items() if name in before}
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        return [_without_added(old_part, new_part) for old_part, new_part in zip(before, now, strict=True)]
    return now


def comparable(name: str, output: Any, running_jobs: Collection[str] = ()) -> Any:
    """What of something that was found must be equal. `running`: ids of the jobs whose reports say "until now".

    Of what people read that is every figure in its order, as the words around the figures may be others; of what
    programs read, every value. What a command with `--json` says to people besides is such a text, too.
    """
    if name.startswith("builds/"):  # a digest
        return output
    runs = name.startswith("report ") and name.split()[1] in running_jobs
    if name.split()[0] == "tables":
        output = _without_added_tables(output)
    if isinstance(output, str):
        if name.startswith("report ") and len(name.split()) > 2:
            output = _HEADINGS.sub("", output)
        if name.startswith("show "):
            output = _REQUESTS.sub("", output)
        return _FIGURE.findall(_SECONDS.sub("", output) if runs else output)
    if name.endswith(": rows"):
        return _with_numbers(_with_kept_digests(output), LOSSES, _round_loss)
    lines = [_line(line) for line in output]  # or rows of a query, which are lists and stay what they are
    if runs:
        return [line | dict.fromkeys(UNTIL_NOW, 0) if isinstance(line, dict) else line for line in lines]
    if name.endswith(": report"):
        lines = [line | _by_any_version(line) if isinstance(line, dict) else line for line in lines]
        return _with_numbers(_with_numbers(lines, DURATIONS, lambda _: 0), LOSSES, _round_loss)
    return lines


def _with_kept_digests(rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Rows by table, with as much of the digests of commands and prompts as is stored since."""
    return {
        table: _in_order(
            [
                {name: value[:32] if name in ("command", "prompt_digest") else value for name, value in row.items()}
                for row in table_rows
            ]
        )
        for table, table_rows in rows.items()
    }


def _without_added_tables(output: Any) -> Any:
    if isinstance(output, str):
        return _ADDED_TABLES.sub("", output)
    return [
        {"tables": [table for table in line["tables"] if table["table"] not in ADDED_TABLES]}
        if isinstance(line, dict) and line.keys() == {"tables"}
        else line
        for line in output
    ]


def _by_any_version(report: dict[str, Any]) -> dict[str, Any]:
    """What is told of the code's versions: of the two halves of a job that other code goes on with, there are two."""
    versions = report.get("code_versions")
    return {} if versions is None else {"code_versions": sum(version["episodes"] for version in versions)}


def _line(line: Any) -> Any:
    if isinstance(line, str):
        return _FIGURE.findall(line)
    if isinstance(line, dict) and "episode" in line:  # no ORDER BY puts an episode's scores and verdicts in order
        return {name: _in_order(value) if name in ("scores", "verdicts") else value for name, value in line.items()}
    return line


def _in_order(values: list[Any]) -> list[Any]:
    return sorted(values, key=partial(json.dumps, sort_keys=True))


def _round_loss(loss: float) -> float:
    """A loss has other last digits on another processor."""
    return round(loss, 2)


def _with_numbers(value: Any, names: Collection[str], change: Callable[[Any], Any], is_named: bool = False) -> Any:
    """The value with every number changed that stands under one of the names, however deep."""
    if isinstance(value, dict):
        return {name: _with_numbers(part, names, change, is_named or name in names) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_numbers(part, names, change, is_named) for part in value]
    return change(value) if is_named and isinstance(value, float) else value
