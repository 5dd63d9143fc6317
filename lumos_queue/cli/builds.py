"""Commands of builds: make a build from stored episodes, list and show builds, compare two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

Build = Annotated[str, typer.Argument(metavar="BUILD", help="A build's name, or its folder.")]
Where = Annotated[
    str,
    typer.Option(
        metavar="FILTER",
        help="Which episodes, as for lumos episodes (docs/queries.md). Without a term of job or origin, "
        "origin!=derived is added, which leaves out episodes that were given some of their replies.",
    ),
]
Formulations = Annotated[
    str, typer.Option(help="iterative, one-pass, integrated, cot, direct, model-synthesis; separated by commas.")
]
PerTask = Annotated[int, typer.Option(min=0, max=opt.MAX_INTEGER, help="At most so many episodes per task; 0: all.")]
RowLimit = Annotated[
    int, typer.Option(min=0, max=opt.MAX_INTEGER, help="At most so many episodes in all, drawn by the seed; 0: all.")
]
NearDuplicates = Annotated[
    float, typer.Option(help="Leave out solutions with at least this similarity to another one, 0 to 1; 0: off.")
]
Against = Annotated[
    list[str] | None,
    typer.Option(
        help="A test split that no task may come from: BENCHMARK:PATH, or file:PATH of your own file. May be repeated."
    ),
]
AllowContaminated = Annotated[bool, typer.Option("--allow-contaminated", help="Keep tasks that a test split contains.")]
Reexecute = Annotated[
    bool, typer.Option("--reexecute", help="Run the actions again; leave out episodes with other results.")
]
Perturbed = Annotated[
    bool, typer.Option("--perturbed", help="Also leave out solutions that are wrong with other numbers.")
]


def dataset_build(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The build's name.")],
    where: Where = "",
    format: Annotated[str, typer.Option(help="lumos, parquet, trl-sft or trl-preference.")] = "lumos",
    formulations: Formulations = "",
    select: Annotated[str, typer.Option(help="With --per-task: take the best, shortest or newest first.")] = "all",
    per_task: PerTask = 0,
    level: Annotated[str, typer.Option(help="Check level at least: format, oracle_tool, executed, perturbed.")] = "",
    mix: Annotated[str, typer.Option(help="Shares of benchmarks or domains, e.g. gsm8k=0.7,svamp=0.3.")] = "",
    rows: RowLimit = 0,
    near_duplicates: NearDuplicates = 0.0,
    dev_share: Annotated[float, typer.Option(help="Share of the source tasks that goes into dev/.")] = 0.0,
    seed: opt.Seed = 0,
    against: Against = None,
    allow_test: Annotated[bool, typer.Option("--allow-test", help="Also use episodes of test splits.")] = False,
    allow_contaminated: AllowContaminated = False,
    reexecute: Reexecute = False,
    perturbed: Perturbed = False,
    min_precision: Annotated[
        float,
        typer.Option(
            help="Only annotations of strata with at least this precision by the labels of --audit, and with 30 labels "
            "or more; 0: any."
        ),
    ] = 0.0,
    audit: Annotated[
        str, typer.Option(metavar="NAME", help="The audit of annotations for --min-precision (lumos audit).")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Folder of the build; default: builds/NAME in LUMOS_HOME.")] = None,
    json: opt.Json = False,
) -> None:
    """Make a training set from stored episodes."""
    from lumos_queue.builds.folder import folder_of
    from lumos_queue.builds.options import BuildOptions, read_mix
    from lumos_queue.cli.build_tables import print_build
    from lumos_queue.formulations.defaults import USUAL
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.build_request import make_build, read_build_where, split_names
    from lumos_queue.submission.database import database

    settings = read_settings()
    target = folder_of(settings, name)
    with database(settings) as job_database:
        options = BuildOptions(
            where=str(read_build_where(job_database, where)),
            format=format,
            formulations=split_names(formulations) or (USUAL,),
            select=select,
            per_task=per_task,
            level=level,
            mix=read_mix(mix),
            rows=rows,
            near=near_duplicates,
            dev_share=dev_share,
            seed=seed,
            against=tuple(against or ()),
            allow_test=allow_test,
            allow_contaminated=allow_contaminated,
            reexecute=reexecute,
            perturbed=perturbed,
            min_precision=min_precision,
            audit=audit,
        )
        manifest, new = make_build(job_database, name, out or target, options)
    if manifest["warning"] and output.as_json:
        output.say(manifest["warning"])
    if not new:
        output.say("the same build exists already: it was left as it is")
    output.result({**manifest, "folder": str(out or target), "new": new}, print_build)


def dataset_list(json: opt.Json = False) -> None:
    """List the builds."""
    from lumos_queue.builds.folder import all_builds, read_manifest
    from lumos_queue.cli.build_tables import print_list
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings

    builds, damaged_names = [], []
    for folder in all_builds(read_settings()):
        try:
            manifest = read_manifest(folder)
        except SpecError as error:
            damaged_names.append(folder.name)
            output.say(f"not listed: {error}")
            continue
        fields = {name: manifest[name] for name in ("digest", "rows", "created_at", "warning")}
        builds.append({"build": folder.name, "format": manifest["options"].get("format", ""), **fields})
    output.result({"builds": builds, "damaged": damaged_names}, print_list)


def dataset_show(build: Build, json: opt.Json = False) -> None:
    """Show a build's manifest: its sources and options."""
    from lumos_queue.builds.folder import find_build, find_changed_files, read_manifest
    from lumos_queue.cli.build_tables import print_build
    from lumos_queue.settings import read_settings

    folder = find_build(read_settings(), build)
    manifest = read_manifest(folder)
    summary = {**manifest, "folder": str(folder), "changed": find_changed_files(folder, manifest)}
    output.result(summary, print_build)


def dataset_diff(
    first: Build,
    second: Build,
    limit: Annotated[
        int, typer.Option(min=0, max=opt.MAX_INTEGER, help="The number of rows of each kind that are listed.")
    ] = 10,
    json: opt.Json = False,
) -> None:
    """Show the rows that differ between two builds."""
    from lumos_queue.builds.difference import compare_builds
    from lumos_queue.builds.folder import find_build
    from lumos_queue.cli.build_tables import print_difference
    from lumos_queue.settings import read_settings

    settings = read_settings()
    difference = compare_builds(find_build(settings, first), find_build(settings, second))
    kinds = {f"only in {first}": "only_a", f"only in {second}": "only_b", "changed": "changed"}
    counts = {kind: sum(row["rows"] for row in difference[kind]) for kind in kinds.values()}
    preview = {**difference, **{kind: difference[kind][:limit] for kind in kinds.values()}, "counts": counts}
    output.result(preview, lambda value: print_difference(value, kinds))
