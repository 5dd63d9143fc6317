"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import output
from lumos_queue.cli.request_command import find_option
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.scheduling import SchedulingRequest


def _json(value: bool) -> bool:
    output.as_json = value
    return value


Json = Annotated[bool, typer.Option("--json", callback=_json, help="Print one JSON object as the last line.")]
Data = Annotated[Path | None, find_option(InferenceRequest, "data")]
Split = Annotated[str, find_option(InferenceRequest, "split")]
SkipBad = Annotated[bool, find_option(InferenceRequest, "skip_bad_rows")]
Published = Annotated[bool, find_option(InferenceRequest, "published")]
Again = Annotated[bool, typer.Option("--again", help="Run it again even if the same request was made before.")]
Name = Annotated[str, typer.Option("--name", help="The job's name; `lumos tag` changes it later.")]
Tags = Annotated[
    list[str], typer.Option("--tag", metavar="KEY=VALUE", help="A word to find the job by. May be repeated.")
]
Follow = Annotated[bool, typer.Option("--follow/--detach", help="With a broker: wait until the job ends, or not.")]
Priority = Annotated[int, find_option(SchedulingRequest, "priority")]
Concurrency = Annotated[int, find_option(SchedulingRequest, "concurrency")]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, or an unambiguous beginning of it.")]
By = Annotated[
    list[str],
    typer.Option(
        "--by",
        metavar="FIELD",
        help="Also the scores by a field: a further column of the data, or what the benchmark groups by. Repeatable.",
        show_default=False,
    ),
]
JobWhere = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="FILTER",
        help="Which jobs: terms FIELD OPERATOR VALUE that must all hold, as in 'benchmark=gsm8k tag.team=maths "
        "state=running' (docs/queries.md).",
    ),
]
Planner = Annotated[str, find_option(InferenceRequest, "planner")]
Grounder = Annotated[str, find_option(InferenceRequest, "grounder")]
Solver = Annotated[str, find_option(InferenceRequest, "solver")]
Roles = Annotated[list[str], find_option(InferenceRequest, "roles")]
ToolOptions = Annotated[list[str], find_option(InferenceRequest, "tools")]
RowOptions = Annotated[list[str], find_option(InferenceRequest, "options")]
Live = Annotated[bool, find_option(InferenceRequest, "live")]
Replay = Annotated[str, find_option(InferenceRequest, "replay")]
Seed = Annotated[int, find_option(InferenceRequest, "seed")]
