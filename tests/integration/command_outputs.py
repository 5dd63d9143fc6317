"""Collect everything that the command line prints for a database, the rows of documented queries, and its builds."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import typer
from sqlalchemy import text

from db.engine.connection import Database
from db.engine.snapshot import reading
from lumos_queue.cli.main import app, main
from performance.queries import read_documented_queries

#: Pages of `lumos episodes`, the fields of a filter among them.
FILTERS = (
    "",
    "score=1",
    "score<1",
    "ending!=answered",
    "origin=converted",
    "origin=derived",
    "origin=imported",
    "origin=corrected",
    "level>=executed",
    "verdict=accepted",
    "action=Calculator",
    "error=division_by_zero",
    "benchmark~qa",
    "formulation=one-pass",
    "subgoals<=2",
    "text~Berg",
    "label=wrong",
    "calls>4 score=1",
)
#: Name of a build to its options.
BUILDS = {
    "all": ("--where", "origin=run", "--formulations", "iterative,one-pass,integrated", "--allow-test"),
    "converted": (
        "--where",
        "origin=converted level>=executed",
        "--dev-share",
        "0.3",
        "--allow-test",
        "--formulations",
        "iterative,one-pass,cot,direct",
    ),
    "chosen": (
        "--where",
        "score=1 origin!=derived",
        "--select",
        "shortest",
        "--per-task",
        "1",
        "--format",
        "trl-sft",
        "--allow-test",
        "--perturbed",
    ),
    "dissimilar": ("--where", "score=1 origin!=derived", "--near-duplicates", "0.3", "--allow-test"),
    "mixed": ("--where", "score=1 origin!=derived", "--mix", "strategyqa=0.5,gsm8k=0.5", "--allow-test"),
    "preferred": ("--where", "benchmark=wordmath", "--format", "trl-preference", "--allow-test"),
    "imported": ("--where", "origin=imported", "--reexecute"),
    "corrected": ("--where", "origin=corrected"),
    "imported-unchecked": ("--where", "origin=imported"),
    "corrected-allowed": ("--where", "origin=corrected", "--allow-test", "--format", "trl-sft"),
}
#: Commands that had another name when the older files were made.
CALLED_BEFORE = {"papers": "tables"}
WIDTH = "110"  #: columns of the terminal, for callers that set COLUMNS
_VERSION = re.compile(r"\b\d+\.\d+\.\d+\+[0-9a-f]{8}\b")
_MADE_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:\+00:00|Z)?")


def run(*arguments: str) -> str:
    """Return the output of a command behind its exit code, without the code's version and the times of builds."""
    return _capture(main, arguments)


def _capture(command: Callable[..., Any], arguments: Sequence[str]) -> str:
    output, remarks = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(remarks):
        code = int(command(arguments) or 0)
    captured_text = remove_version(f"exit code {code}\n{output.getvalue()}{remarks.getvalue()}")
    return _MADE_AT.sub("TIME", captured_text) if arguments[0] == "dataset" else captured_text


def parse_output(output: str) -> list[Any]:
    """Return the lines of an output: the exit code, values of JSON lines, and remarks as text."""
    return [_value(line) for line in output.splitlines()]


def _value(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def remove_version(output: str) -> str:
    return _VERSION.sub("VERSION", output)


def list_commands(jobs: Mapping[str, str], episodes: Sequence[str]) -> Iterator[list[str]]:
    """Yield every command that reads. `jobs`: project to id; the projects of blame begin with 'blame'."""
    yield ["jobs", "--limit", "100"]
    yield ["papers"]
    yield ["audit", "report", "trusted"]
    yield ["audit", "next", "trusted", "--as", "someone"]
    for job in jobs.values():
        yield ["job", job]
        yield ["report", job]
        yield ["episodes", job, "--limit", "100"]
    run_jobs = [job for project, job in jobs.items() if project.startswith("wordmath")]
    yield ["report", *run_jobs]
    for where in FILTERS:
        yield ["episodes", "--where", where, "--limit", "100"]
    yield ["rollouts", "report", jobs["rollouts"]]
    yield ["blame", "report", *(job for project, job in sorted(jobs.items()) if project.startswith("blame"))]
    for episode in episodes:
        yield ["show", episode, "--prompts"]
    for name, options in BUILDS.items():
        yield ["dataset", "build", name, *options]
        yield ["dataset", "show", name]
    yield ["dataset", "diff", "all", "converted"]


def collect_outputs(database: Database, home: Path, jobs: Mapping[str, str]) -> dict[str, Any]:
    """Return the outputs by command line, the rows by query, and the digests by file of a build.

    The environment must name the database, `home` and the width of the terminal.
    """
    outputs: dict[str, Any] = {}
    # Made once: `main` would make it for each of hundreds of commands.
    lumos_command = partial(typer.main.get_command(app), prog_name="lumos", standalone_mode=False)
    with database.engine.connect() as connection:
        numbers = connection.execute(
            text("SELECT i.job, i.ordinal FROM episode e JOIN item i ON i.id = e.id ORDER BY i.job, i.ordinal")
        ).all()
    for arguments in list_commands(jobs, [f"{job}-{ordinal}" for job, ordinal in numbers if not ordinal]):
        command = main if arguments[0] == "dataset" else lumos_command  # `main` prints why it refuses a build
        name = " ".join([CALLED_BEFORE.get(arguments[0], arguments[0]), *arguments[1:]])
        outputs[name] = _capture(command, arguments)
        if arguments[:2] != ["dataset", "build"]:
            outputs[f"{name} --json"] = parse_output(_capture(command, [*arguments, "--json"]))
    for job, ordinal in numbers:
        outputs[f"{job}-{ordinal}"] = parse_output(_capture(lumos_command, ["show", f"{job}-{ordinal}", "--json"]))
    for title, query in read_documented_queries():
        with reading(database) as connection:
            outputs[title] = [[_plain(value) for value in row] for row in connection.execute(query)]
    for file in sorted((home / "builds").rglob("*")):
        if file.is_file():
            outputs[str(file.relative_to(home))] = _digest(file)
    return outputs


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else round(float(value), 9)


def _digest(file: Path) -> str:
    data = file.read_bytes()
    if file.suffix in (".json", ".md"):  # manifest and card contain the code's version and the time
        data = _MADE_AT.sub("TIME", remove_version(data.decode())).encode()
    return hashlib.sha256(data).hexdigest()
