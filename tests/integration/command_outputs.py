"""Everything that the command line shows of a database, and what else is read from it: the same before and after."""

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

from db.connection import Database
from db.trajectories import reading
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
#: Name of a build to what is asked for it.
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
#: Commands that were called otherwise when the files of before were made.
CALLED_BEFORE = {"papers": "tables"}
WIDTH = "110"  #: columns of the terminal, for those who set COLUMNS
_VERSION = re.compile(r"\b\d+\.\d+\.\d+\+[0-9a-f]{8}\b")
_MADE_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:\+00:00|Z)?")


def run(*arguments: str) -> str:
    """What a command prints, its exit code first. The code's version, and when a build is made, are left out."""
    return _capture(main, arguments)


def _capture(command: Callable[..., Any], arguments: Sequence[str]) -> str:
    output, remarks = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(remarks):
        code = int(command(arguments) or 0)
    captured_text = without_version(f"exit code {code}\n{output.getvalue()}{remarks.getvalue()}")
    return _MADE_AT.sub("TIME", captured_text) if arguments[0] == "dataset" else captured_text


def values(output: str) -> list[Any]:
    """What a command printed for programs: its exit code, and the value of each line. Remarks for people stay text."""
    return [_value(line) for line in output.splitlines()]


def _value(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def without_version(output: str) -> str:
    return _VERSION.sub("VERSION", output)


def commands(jobs: Mapping[str, str], episodes: Sequence[str]) -> Iterator[list[str]]:
    """Every command that reads. `jobs`: project to id; the two of blame are called 'blame, …'."""
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


def everything(database: Database, home: Path, jobs: Mapping[str, str]) -> dict[str, Any]:
    """Command line to what it prints (`--json`: its values), query to its rows, file of a build to its digest.

    The settings of the environment name the database, `home` and the width of the terminal.
    """
    outputs: dict[str, Any] = {}
    # Made once, as there are hundreds of commands; `main` makes it anew for each.
    lumos_command = partial(typer.main.get_command(app), prog_name="lumos", standalone_mode=False)
    with database.engine.connect() as connection:
        numbers = connection.execute(
            text("SELECT i.job, i.ordinal FROM episode e JOIN item i ON i.id = e.id ORDER BY i.job, i.ordinal")
        ).all()
    for arguments in commands(jobs, [f"{job}-{ordinal}" for job, ordinal in numbers if not ordinal]):
        command = main if arguments[0] == "dataset" else lumos_command  # a build may be refused, and `main` says why
        name = " ".join([CALLED_BEFORE.get(arguments[0], arguments[0]), *arguments[1:]])
        outputs[name] = _capture(command, arguments)
        if arguments[:2] != ["dataset", "build"]:
            outputs[f"{name} --json"] = values(_capture(command, [*arguments, "--json"]))
    for job, ordinal in numbers:
        outputs[f"{job}-{ordinal}"] = values(_capture(lumos_command, ["show", f"{job}-{ordinal}", "--json"]))
    for title, query in documented():
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
    if file.suffix in (".json", ".md"):  # manifest and card say which code made the build, and when
        data = _MADE_AT.sub("TIME", without_version(data.decode())).encode()
    return hashlib.sha256(data).hexdigest()
