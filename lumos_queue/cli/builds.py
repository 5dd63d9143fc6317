"""Commands of builds: make a build from stored episodes, list and show builds, compare two."""

from __future__ import annotations

from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.request_command import takes_request
from lumos_queue.submission.requests.build import BuildRequest
from lumos_queue.submission.requests.option import MAX_INTEGER

Build = Annotated[str, typer.Argument(metavar="BUILD", help="A build's name, or its folder.")]


@takes_request(BuildRequest)
def dataset_build(request: BuildRequest, *, json: opt.Json = False) -> None:
    """Make a training set from stored episodes."""
    from lumos_queue.builds.folder import folder_of
    from lumos_queue.cli.build_tables import print_build
    from lumos_queue.deployment.database import database
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.build_request import make_build, read_build_options

    settings = read_settings()
    default_target = folder_of(settings, request.name)
    target = request.out or default_target
    with database(settings) as job_database:
        manifest, new = make_build(job_database, request.name, target, read_build_options(job_database, request))
    if manifest["warning"] and output.as_json:
        output.say(manifest["warning"])
    if not new:
        output.say("the same build exists already: it was left as it is")
    output.result({**manifest, "folder": str(target), "new": new}, print_build)


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
        int, typer.Option(min=0, max=MAX_INTEGER, help="The number of rows of each kind that are listed.")
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
