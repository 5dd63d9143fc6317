"""Commands about builds: make one from stored episodes, list them, look at one, compare two."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

dataset_app = typer.Typer(rich_markup_mode=None, help="Training sets made from stored episodes.")
Build = Annotated[str, typer.Argument(metavar="BUILD", help="A build's name, or its folder.")]


@dataset_app.command("build")
def build_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the build is called.")],
    where: Annotated[
        str,
        typer.Option(
            help="Which episodes, as in: benchmark=gsm8k level>=executed. Unless it has a term of job or origin, "
            "origin!=derived is added: episodes that were given some replies are left out."
        ),
    ] = "",
    format: Annotated[str, typer.Option(help="lumos, parquet, trl-sft or trl-preference.")] = "lumos",
    formulations: Annotated[
        str, typer.Option(help="iterative, one-pass, integrated, cot, direct; separated by commas.")
    ] = "",
    select: Annotated[str, typer.Option(help="With --per-task: best, shortest or newest first.")] = "all",
    per_task: Annotated[int, typer.Option(min=0, max=opt.MOST, help="So many episodes of a task; 0: all.")] = 0,
    level: Annotated[str, typer.Option(help="At least so checked: format, oracle_tool, executed, perturbed.")] = "",
    mix: Annotated[str, typer.Option(help="Shares of benchmarks or domains, as in gsm8k=0.7,svamp=0.3.")] = "",
    near_duplicates: Annotated[float, typer.Option(help="Leave out what is so similar, 0 to 1; 0: do not look.")] = 0.0,
    dev_share: Annotated[float, typer.Option(help="Part of the source tasks that goes into dev/.")] = 0.0,
    seed: opt.Seed = 0,
    against: Annotated[
        list[str] | None, typer.Option(help="A test split to check the tasks against: BENCHMARK:PATH. May be repeated.")
    ] = None,
    allow_test: Annotated[bool, typer.Option("--allow-test", help="Build from episodes of test splits, too.")] = False,
    allow_contaminated: Annotated[
        bool, typer.Option("--allow-contaminated", help="Keep tasks that stand in a test split.")
    ] = False,
    reexecute: Annotated[
        bool, typer.Option("--reexecute", help="Run the actions again; leave out what gives other results.")
    ] = False,
    perturbed: Annotated[
        bool, typer.Option("--perturbed", help="Leave out what is not right with other numbers, too.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The folder; default: builds/NAME in LUMOS_HOME.")] = None,
    json: opt.Json = False,
) -> None:
    """Make a training set from annotated and successful episodes."""
    from db.filters import parse_where
    from db.trajectories import stream_episodes
    from lumos_queue.builds.build import build
    from lumos_queue.builds.database_facts import read_database_facts
    from lumos_queue.builds.folder import folder_of
    from lumos_queue.builds.options import BuildOptions, read_mix
    from lumos_queue.builds.sources import Sources, source_modules
    from lumos_queue.cli.build_tables import print_build
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    settings, wanted = read_settings(), parse_where(where)
    if not any(one.field in ("job", "origin") for one in wanted.terms):  # they were helped, some of them with gold
        wanted &= parse_where("origin!=derived")
    target = folder_of(settings, name)
    options = BuildOptions(
        str(wanted), format, _names(formulations) or ("iterative",), select, per_task, level, read_mix(mix),
        near_duplicates, dev_share, seed, tuple(against or ()), allow_test, allow_contaminated, reexecute, perturbed,
    )  # fmt: skip
    with database(settings) as opened:
        sources = Sources(source_modules(opened))
        stored = read_database_facts(opened, tests=not allow_test)
        manifest, new = build(stream_episodes(opened, wanted), name, out or target, options, sources, stored)
    if manifest["warning"] and output.as_json:
        output.say(manifest["warning"])
    if not new:
        output.say("the same build was there already: it stays as it is")
    output.result({**manifest, "folder": str(out or target), "new": new}, print_build)


@dataset_app.command("list")
def list_command(json: opt.Json = False) -> None:
    """The builds kept under their names."""
    from lumos_queue.builds.folder import all_builds, read_manifest
    from lumos_queue.cli.build_tables import print_list
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings

    found, damaged = [], []
    for folder in all_builds(read_settings()):
        try:
            manifest = read_manifest(folder)
        except SpecError as error:
            damaged.append(folder.name)
            output.say(f"not listed: {error}")
            continue
        kept = {name: manifest[name] for name in ("digest", "rows", "created_at", "warning")}
        found.append({"build": folder.name, "format": manifest["options"].get("format", ""), **kept})
    output.result({"builds": found, "damaged": damaged}, print_list)


@dataset_app.command("show")
def show_command(build: Build, json: opt.Json = False) -> None:
    """A build's manifest: what it was made from, and how."""
    from lumos_queue.builds.folder import changed_files, find_build, read_manifest
    from lumos_queue.cli.build_tables import print_build
    from lumos_queue.settings import read_settings

    folder = find_build(read_settings(), build)
    manifest = read_manifest(folder)
    shown = {**manifest, "folder": str(folder), "changed": changed_files(folder, manifest)}
    output.result(shown, print_build)


@dataset_app.command("diff")
def diff_command(
    build: Build,
    other: Build,
    limit: Annotated[int, typer.Option(min=0, max=opt.MOST, help="Rows named of each kind.")] = 10,
    json: opt.Json = False,
) -> None:
    """Rows only in one of two builds, and rows that changed."""
    from lumos_queue.builds.difference import compare_builds
    from lumos_queue.builds.folder import find_build
    from lumos_queue.cli.build_tables import print_difference
    from lumos_queue.settings import read_settings

    settings = read_settings()
    found = compare_builds(find_build(settings, build), find_build(settings, other))
    kinds = {f"only in {build}": "only_a", f"only in {other}": "only_b", "changed": "changed"}
    counts = {kind: sum(row["rows"] for row in found[kind]) for kind in kinds.values()}
    shown = {**found, **{kind: found[kind][:limit] for kind in kinds.values()}, "counts": counts}
    output.result(shown, lambda value: print_difference(value, kinds))


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
