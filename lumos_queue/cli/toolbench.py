"""Commands for ToolBench's answer files: data import-toolbench, data export-toolbench."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.compat import read_licence


def import_toolbench(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Answer files, e.g. 57_DFS_woFilter_w2.json.")],
    licence: Annotated[str, typer.Option(help="Licence of the files, e.g. 'Apache-2.0'. Required.")] = "",
    split: opt.Split = "train",
    again: Annotated[
        bool, typer.Option("--again", help="Import the files again even if they were imported before.")
    ] = False,
    name: opt.Name = "",
    tag: opt.Tags = [],
    json: opt.Json = False,
) -> None:
    """Import recorded searches and chains of ToolBench.

    Each file becomes an episode with its tree. Either all files are imported, or none. If two files have the same name,
    all get the names of their folders, too: G1_answer/57_DFS.json, G2_answer/57_DFS.json.
    """
    from lumos_queue.deployment.database import database
    from lumos_queue.searches.answer_import import import_answer_files
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.tags import read_name_and_tags

    licence, name_and_tags = read_licence(licence), read_name_and_tags(name, tag)
    settings = read_settings()
    with database(settings, create=True) as job_database:
        report = import_answer_files(job_database, settings, files, split, licence, again, name_and_tags)
    output.result(asdict(report), _print_import)


def _print_import(summary: dict[str, Any]) -> None:
    remark = "" if summary["new"] else " (these files were imported before; --again imports them again)"
    output.show(f"{summary['job']}{remark}")
    output.say(
        f"{summary['episodes']} episodes of {summary['formulation']}: {summary['calls']} calls, "
        f"{summary['actions']} actions, {summary['nodes']} nodes"
    )


def export_toolbench(
    job: opt.JobId,
    out: Annotated[Path, typer.Option(help="Folder for the files; it must be empty or not exist.")],
    format: Annotated[
        str, typer.Option(help="answers: ToolBench's files, one for each episode; tooleval: one file for ToolEval.")
    ] = "answers",
    json: opt.Json = False,
) -> None:
    """Write the episodes of a job of tool agents as ToolBench does.

    For imported episodes the files are those that were imported, in their folders if two have the same name.
    """
    from lumos_queue.deployment.database import database
    from lumos_queue.searches.answer_export import export_answer_files
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database:
        count = export_answer_files(job_database, job, out, format)
    summary = {"folder": str(out), "episodes": count, "format": format}
    output.result(summary, lambda summary: output.show(f"{summary['episodes']} episodes in {summary['folder']}"))
