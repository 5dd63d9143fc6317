"""Check a job with hostile models: all items ended, and commands and pages show them."""

from __future__ import annotations

import io
import json
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from db.engine.connection import Database
from db.queue.recount import recount
from lumos_queue.cli.main import main
from tests.explorers import call_explorer

_LINES = 6  #: of a traceback in a problem


@dataclass(frozen=True)
class CommandRun:
    """The result of a command: its exit code and output, or the traceback of its exception."""

    code: int
    out: str
    err: str
    trace: str = ""

    @property
    def problem(self) -> str:
        """A failure in a few lines; '' if there is none."""
        if self.trace:
            return "\n".join(self.trace.strip().splitlines()[-_LINES:])
        if self.code:
            return f"exit code {self.code}: {(self.err or self.out).strip()[-400:]}"
        return self.err[-2000:] if "Traceback (most recent call last)" in self.err else ""


def run(*arguments: str) -> CommandRun:
    """Run a `lumos` command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code, trace = int(main(arguments) or 0), ""
        except Exception:
            code, trace = 1, traceback.format_exc()
    return CommandRun(code, out.getvalue(), err.getvalue(), trace)


def find_endings(database: Database, job: str) -> Counter[str]:
    """Count the episodes of a job by ending."""
    query = text("SELECT ending, count(*) FROM episode WHERE job = :job GROUP BY ending")
    with database.engine.connect() as connection:
        return Counter({str(ending): many for ending, many in connection.execute(query, {"job": job})})


def check_items(database: Database, job: str) -> Iterator[str]:
    """Yield a line for each kind of items that did not end well."""
    states = text("SELECT state, count(*) FROM item WHERE job = :job AND state <> 'done' GROUP BY state")
    failures = text("SELECT id, message FROM episode WHERE job = :job AND ending = 'infra_error'")
    with database.engine.connect() as connection:
        for state, many in connection.execute(states, {"job": job}):
            yield f"{many} items are {state}"
        for identifier, message in connection.execute(failures, {"job": job}):
            yield f"episode {identifier} ended with infra_error: {message[:300]}"
    for name, differences in recount(database):
        if name == job:
            yield from map(str, differences)


def check_commands(database: Database, job: str, folder: Path) -> Iterator[str]:
    """Yield a line for each command that fails to show the job, or one of its episodes."""
    for command in _commands(job, folder, _ordinals(database, job)):
        ran = run(*command)
        problem = ran.problem
        if not problem and "--json" in command:
            problem = _read_problem(ran.out)
        if problem:
            yield f"lumos {' '.join(command)}: {problem}"


def _commands(job: str, folder: Path, ordinals: list[int]) -> Iterator[list[str]]:
    yield ["report", job, "--html", str(folder / f"{job}.html")]
    yield ["report", job, "--md", str(folder / f"{job}.md")]
    for command in (["report", job], ["job", job], ["episodes", job, "--limit", "1000"]):
        yield command
        yield [*command, "--json"]
    for ordinal in ordinals:
        yield ["show", f"{job}-{ordinal}"]
        yield ["show", f"{job}-{ordinal}", "--prompts", "--json"]


def _read_problem(out: str) -> str:
    """Return why the last line of an output is not a JSON object, or ''."""
    try:
        json.loads(out.splitlines()[-1]).keys()
        out.encode()
    except (ValueError, IndexError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def check_pages(database: Database, job: str) -> Iterator[str]:
    """Yield a line for each page of the explorer that fails to show the job."""
    pages = ["/jobs", "/episodes", *(f"/jobs/{job}{part}" for part in ("", "/report", "/failures", "/episodes"))]
    pages += [f"/episodes/export.{form}?where=job={job}" for form in ("csv", "jsonl")]
    pages += [f"/episodes/{job}-{ordinal}" for ordinal in _ordinals(database, job)]
    with call_explorer(database) as explorer:
        client = explorer.client()
        for page in pages:
            answer = client.get(page, follow_redirects=True)
            if answer.status_code != 200:
                yield f"page {page}: status {answer.status_code}: {' '.join(answer.text.split())[:300]}"


def _ordinals(database: Database, job: str) -> list[int]:
    query = text("SELECT ordinal FROM item WHERE job = :job ORDER BY ordinal")
    with database.engine.connect() as connection:
        return [int(row[0]) for row in connection.execute(query, {"job": job})]
