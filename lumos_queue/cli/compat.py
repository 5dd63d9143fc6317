"""Commands for files in the format of the original LUMOS: data import, dataset export-compat, dataset unify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

MAX_LISTED = 5  #: bad rows in one message
MAX_LICENCE = 100  #: characters


def import_files(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="JSON lines of the planner, in the released layout.")],
    ground: Annotated[Path, typer.Argument(metavar="GROUND", help="JSON lines of the grounder.")],
    licence: Annotated[str, typer.Option(help="Licence of the files, e.g. 'CC BY 4.0'. Required.")] = "",
    benchmark: Annotated[
        str, typer.Option(help="Name for the benchmark of the tasks; default: the files' domain.")
    ] = "",
    split: opt.Split = "train",
    skip_bad_rows: opt.SkipBad = False,
    again: Annotated[
        bool, typer.Option("--again", help="Import the files again even if they were imported before.")
    ] = False,
    name: opt.Name = "",
    tag: opt.Tags = [],
    json: opt.Json = False,
) -> None:
    """Import a planner's and a grounder's training files.

    Either all of their rows become episodes, or none. Rows of the two files are joined by task and subgoals, not by id.
    """
    from lumos_queue.compat.file_import import store_released
    from lumos_queue.compat.row_join import open_join
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import SpecError
    from lumos_queue.formulations.defaults import RELEASED
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.tags import read_name_and_tags

    licence, name_and_tags = read_licence(licence), read_name_and_tags(name, tag)
    settings = read_settings()
    with open_join(plan, ground) as join:
        report = join.summary
        if report.bad and not skip_bad_rows:
            preview = "; ".join(f"{path.name} {str(bad)[:200]}" for path, bad in report.bad[:MAX_LISTED])
            suffix = f"; and {report.bad_rows - MAX_LISTED} more" if report.bad_rows > MAX_LISTED else ""
            raise SpecError(
                f"{report.bad_rows} rows cannot be read: {preview}{suffix}. "
                "Nothing was stored. Fix them, or skip them with --skip-bad-rows."
            )
        benchmark = benchmark or (report.domains.copy().pop() if len(report.domains) == 1 else "unified")
        with database(settings, create=True) as job_database:
            job, new, verdicts = store_released(
                job_database, settings, join, benchmark, split, licence, again, name_and_tags, formulations=RELEASED
            )
        summary = {
            "job": job,
            "new": new,
            "benchmark": benchmark,
            "episodes": report.pairs,
            "planner_rows": report.rows["plan"],
            "grounder_rows": report.rows["ground"],
            "duplicates": report.duplicates,
            "bad_rows": report.bad_rows,
            "first_bad": f"{report.bad[0][0].name} {report.bad[0][1]}" if report.bad else "",
            "without_partner": {module: rows - report.pairs for module, rows in report.rows.items()},
            "other_plan": report.other_plan,
            "verdicts": dict(verdicts.most_common()),
        }
    output.result(summary, _print_import)


def read_licence(text: str) -> str:
    """Return the licence's name. Raises SpecError for a text that cannot be a licence's name."""
    from lumos_queue.errors import SpecError

    if not (name := text.strip()):
        raise SpecError("No licence is given: name the licence of the files, e.g. --licence 'CC BY 4.0'.")
    if len(name) > MAX_LICENCE or not name.isprintable():
        raise SpecError(
            f"--licence has {len(name)} characters: expected the licence's name in one line of printable text, "
            f"at most {MAX_LICENCE}, e.g. 'CC BY 4.0'."
        )
    return name


def _print_import(summary: dict[str, Any]) -> None:
    remark = "" if summary["new"] else " (these files were imported before; --again imports them again)"
    output.show(f"{summary['job']}{remark}")
    output.say(
        f"{summary['episodes']} episodes of {summary['benchmark']}, from {summary['planner_rows']} planner's and "
        f"{summary['grounder_rows']} grounder's rows"
    )
    for module, other_module in (("plan", "ground"), ("ground", "plan")):
        if rows := summary["without_partner"][module]:
            same_task = summary["other_plan"][module]
            output.say(
                f"left out {rows} rows of the {module} file: {rows - same_task} have a task that the "
                f"{other_module} file does not have, {same_task} have other subgoals for their task than the "
                f"{other_module} file"
            )
    if summary["duplicates"]:
        output.say(f"left out {summary['duplicates']} rows that repeat another row of their file")
    if summary["bad_rows"]:
        output.say(f"skipped {summary['bad_rows']} bad rows; the first: {summary['first_bad'][:300]}")
    for name, count in summary["verdicts"].items():
        output.say(f"{name}: {count}")


def export_compat(
    raw: Annotated[Path, typer.Argument(metavar="RAW", help="Raw annotations: converted/*.json of the original.")],
    domain: Annotated[str, typer.Option(help="maths, complex_qa, web_agent or multimodal.")],
    out: Annotated[Path, typer.Option(help="Folder for the training files; it must be empty or not exist.")],
    skip_bad_rows: opt.SkipBad = False,
    json: opt.Json = False,
) -> None:
    """Make the original's training files.

    The files are made from the original's raw annotations. They equal its files byte for byte, including quirks.
    """
    from lumos_queue.compat.folder_export import export_folder

    export = export_folder(raw, domain, out, skip_bad_rows)
    summary = {
        "folder": str(out),
        "rows": export.rows,
        "dropped": export.dropped,
        "bad_rows": export.bad_rows,
        "first_bad": export.first_bad,
    }
    output.result(summary, _print_export)


def _print_export(summary: dict[str, Any]) -> None:
    output.show("\n".join(f"{count:>8}  {name}" for name, count in summary["rows"].items()))
    output.show(f"in {summary['folder']}")
    for module, count in summary["dropped"].items():
        if count:
            output.say(
                f"{count} annotations are in the onetime {module} file only: the original makes no iterative row if "
                "a subgoal has no action, or if its last line sets no variable that it can number"
            )
    if summary["bad_rows"]:
        output.say(f"skipped {summary['bad_rows']} bad rows; the first: {summary['first_bad'][:300]}")


def unify(
    out: Annotated[Path, typer.Option(help="The unified file; it must not exist.")],
    files: Annotated[
        list[Path], typer.Argument(metavar="[FILE]...", show_default=False, help="Training files, one for each domain.")
    ] = [],
    direct: Annotated[
        list[Path],
        typer.Option(help="Instructions in Alpaca's format, added to be answered directly. May be repeated."),
    ] = [],
    json: opt.Json = False,
) -> None:
    """Concatenate the training files of several domains.

    The ids of rows are kept.
    """
    from lumos_queue.compat.unify import unify as write_unified

    rows = write_unified(files, out, direct)
    output.result(
        {"file": str(out), "rows": rows},
        lambda summary: output.show("\n".join(f"{count:>8}  {name}" for name, count in summary["rows"].items())),
    )
