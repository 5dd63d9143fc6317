"""The request of a build: of `lumos dataset build`, and of the explorer's form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lumos_queue.submission.requests.entrances import COMMAND_ONLY, FORMS
from lumos_queue.submission.requests.option import MAX_INTEGER, Option


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """The request of a training set. BuildOptions has the same values as they are stored."""

    name: Annotated[
        str, Option("The build's name.", metavar="NAME", positional=True, entrances=FORMS, label="Name")
    ] = ""
    where: Annotated[
        str,
        Option(
            "Which episodes, as for lumos episodes (docs/queries.md). Without a term of job or origin, "
            "origin!=derived is added, which leaves out episodes that were given some of their replies.",
            metavar="FILTER",
            entrances=FORMS,
            label="Which episodes",
        ),
    ] = ""
    format: Annotated[str, Option("lumos, parquet, trl-sft or trl-preference.", entrances=FORMS, label="Format")] = (
        "lumos"
    )
    formulations: Annotated[
        str,
        Option(
            "iterative, one-pass, integrated, cot, direct, model-synthesis; separated by commas.",
            entrances=FORMS,
            label="Formulations of the rows",
        ),
    ] = ""
    select: Annotated[
        str,
        Option("With --per-task: take the best, shortest or newest first.", entrances=FORMS, label="Order of a task"),
    ] = "all"
    per_task: Annotated[
        int,
        Option(
            "At most so many episodes per task; 0: all.",
            min=0,
            max=MAX_INTEGER,
            entrances=FORMS,
            label="Episodes per task",
        ),
    ] = 0
    level: Annotated[
        str,
        Option("Check level at least: format, oracle_tool, executed, perturbed.", entrances=FORMS, label="Check level"),
    ] = ""
    mix: Annotated[
        str,
        Option("Shares of benchmarks or domains, e.g. gsm8k=0.7,svamp=0.3.", entrances=FORMS, label="Shares"),
    ] = ""
    rows: Annotated[
        int,
        Option(
            "At most so many episodes in all, drawn by the seed; 0: all.",
            min=0,
            max=MAX_INTEGER,
            entrances=FORMS,
            label="Episodes in all",
        ),
    ] = 0
    near_duplicates: Annotated[
        float,
        Option(
            "Leave out solutions with at least this similarity to another one, 0 to 1; 0: off.",
            min=0.0,
            max=1.0,
            entrances=FORMS,
            label="Near-duplicates",
        ),
    ] = 0.0
    dev_share: Annotated[
        float,
        Option(
            "Share of the source tasks that goes into dev/.",
            min=0.0,
            max=1.0,
            entrances=FORMS,
            label="Share of dev",
        ),
    ] = 0.0
    seed: Annotated[int, Option("Seed of all sampling.", min=0, max=MAX_INTEGER, entrances=FORMS, label="Seed")] = 0
    against: Annotated[
        tuple[str, ...],
        Option(
            "A test split that no task may come from: BENCHMARK:PATH, or file:PATH of your own file. May be repeated.",
            entrances=FORMS,
            label="Test splits",
        ),
    ] = ()
    allow_test: Annotated[
        bool, Option("Also use episodes of test splits.", entrances=FORMS, label="Episodes of test splits")
    ] = False
    allow_contaminated: Annotated[
        bool, Option("Keep tasks that a test split contains.", entrances=FORMS, label="Tasks of test splits")
    ] = False
    reexecute: Annotated[
        bool,
        Option("Run the actions again; leave out episodes with other results.", entrances=FORMS, label="Run again"),
    ] = False
    perturbed: Annotated[
        bool,
        Option("Also leave out solutions that are wrong with other numbers.", entrances=FORMS, label="Other numbers"),
    ] = False
    min_precision: Annotated[
        float,
        Option(
            "Only annotations of strata with at least this precision by the labels of --audit, and with 30 labels or "
            "more; 0: any.",
            min=0.0,
            max=1.0,
            entrances=COMMAND_ONLY,
        ),
    ] = 0.0
    audit: Annotated[
        str,
        Option("The audit of annotations for --min-precision (lumos audit).", metavar="NAME", entrances=COMMAND_ONLY),
    ] = ""
    out: Annotated[
        Path | None, Option("Folder of the build; default: builds/NAME in LUMOS_HOME.", entrances=COMMAND_ONLY)
    ] = None
