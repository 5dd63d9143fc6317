"""Commands for files in the format of the original LUMOS: data import, dataset export-compat, dataset unify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

MAX_LISTED = 5  #: bad rows named in one message
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

    Their rows become episodes: all of them, or none. Rows of the two files are joined by task and subgoals, not by id.
    """
    from lumos_queue.compat.file_import import store_released
    from lumos_queue.compat.row_join import open_join
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database
    from lumos_queue.submission.tags import read_name_and_tags

    licence, named = read_licence(licence), read_name_and_tags(name, tag)
    settings = read_settings()
    with open_join(plan, ground) as joining:
        found = joining.found
        if found.bad and not skip_bad_rows:
            shown = "; ".join(f"{path.name} {str(bad)[:200]}" for path, bad in found.bad[:MAX_LISTED])
            more = f"; and {found.bad_rows - MAX_LISTED} more" if found.bad_rows > MAX_LISTED else ""
            raise SpecError(
                f"{found.bad_rows} rows cannot be read: {shown}{more}. "
                "Nothing was stored. Fix them, or skip them with --skip-bad-rows."
            )
        benchmark = benchmark or (found.domains.copy().pop() if len(found.domains) == 1 else "unified")
        with database(settings, create=True) as opened:
            job, new, verdicts = store_released(opened, settings, joining, benchmark, split, licence, again, named)
        told = {
            "job": job,
            "new": new,
            "benchmark": benchmark,
            "episodes": found.pairs,
            "planner_rows": found.rows["plan"],
            "grounder_rows": found.rows["ground"],
            "duplicates": found.duplicates,
            "bad_rows": found.bad_rows,
            "first_bad": f"{found.bad[0][0].name} {found.bad[0][1]}" if found.bad else "",
            "without_partner": {module: rows - found.pairs for module, rows in found.rows.items()},
            "other_plan": found.other_plan,
            "verdicts": dict(verdicts.most_common()),
        }
    output.result(told, _print_import)


def read_licence(text: str) -> str:
    """The licence's name. Raises SpecError for a text that cannot be one."""
    from lumos_queue.errors import SpecError

    if not (found := text.strip()):
        raise SpecError("No licence is given: name the licence of the files, e.g. --licence 'CC BY 4.0'.")
    if len(found) > MAX_LICENCE or not found.isprintable():
        raise SpecError(
            f"--licence has {len(found)} characters: expected the licence's name in one line of printable text, "
            f"at most {MAX_LICENCE}, e.g. 'CC BY 4.0'."
        )
    return found


def _print_import(told: dict[str, Any]) -> None:
    known = "" if told["new"] else " (these files were imported before; --again imports them again)"
    output.show(f"{told['job']}{known}")
    output.say(
        f"{told['episodes']} episodes of {told['benchmark']}, from {told['planner_rows']} planner's and "
        f"{told['grounder_rows']} grounder's rows"
    )
    for module, other in (("plan", "ground"), ("ground", "plan")):
        if rows := told["without_partner"][module]:
            same_task = told["other_plan"][module]
            output.say(
                f"left out {rows} rows of the {module} file: {rows - same_task} have a task that the {other} file does "
                f"not have, {same_task} have other subgoals for their task than the {other} file"
            )
    if told["duplicates"]:
        output.say(f"left out {told['duplicates']} rows that repeat another row of their file")
    if told["bad_rows"]:
        output.say(f"skipped {told['bad_rows']} bad rows; the first: {told['first_bad'][:300]}")
    for name, count in told["verdicts"].items():
        output.say(f"{name}: {count}")


def export_compat(
    raw: Annotated[Path, typer.Argument(metavar="RAW", help="Raw annotations: converted/*.json of the original.")],
    domain: Annotated[str, typer.Option(help="maths, complex_qa, web_agent or multimodal.")],
    out: Annotated[Path, typer.Option(help="Folder for the training files; it must be empty or not exist.")],
    skip_bad_rows: opt.SkipBad = False,
    json: opt.Json = False,
) -> None:
    """Make the original's training files.

    From its raw annotations, byte for byte, including its quirks.
    """
    from lumos_queue.compat.folder_export import export_folder

    found = export_folder(raw, domain, out, skip_bad_rows)
    told = {
        "folder": str(out),
        "rows": found.rows,
        "dropped": found.dropped,
        "bad_rows": found.bad_rows,
        "first_bad": found.first_bad,
    }
    output.result(told, _print_export)


def _print_export(told: dict[str, Any]) -> None:
    output.show("\n".join(f"{count:>8}  {name}" for name, count in told["rows"].items()))
    output.show(f"in {told['folder']}")
    for module, count in told["dropped"].items():
        if count:
            output.say(
                f"{count} annotations are in the onetime {module} file only: the original makes no iterative row if "
                "a subgoal has no action, or if its last line sets no variable that it can number"
            )
    if told["bad_rows"]:
        output.say(f"skipped {told['bad_rows']} bad rows; the first: {told['first_bad'][:300]}")


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
        lambda told: output.show("\n".join(f"{count:>8}  {name}" for name, count in told["rows"].items())),
    )
