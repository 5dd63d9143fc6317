"""Commands for the original's files: import, export-compat, unify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

LISTED = 5  #: bad rows named in one message
LONGEST_LICENCE = 100  #: characters


def import_files(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="JSON lines of the planner, in the released layout.")],
    ground: Annotated[Path, typer.Argument(metavar="GROUND", help="JSON lines of the grounder.")],
    licence: Annotated[str, typer.Option(help="Under which the files may be used, e.g. 'CC BY 4.0'. Required.")] = "",
    benchmark: Annotated[str, typer.Option(help="What the tasks are called. Default: the files' domain.")] = "",
    split: opt.Split = "train",
    skip_bad_rows: opt.SkipBad = False,
    again: Annotated[bool, typer.Option("--again", help="Store them even if they were imported before.")] = False,
    json: opt.Json = False,
) -> None:
    """Store a planner's and a grounder's training file as episodes: all of them, or none.

    Rows of the two files are joined by task and subgoals, never by id.
    """
    from lumos_queue.compat.importing import store_released
    from lumos_queue.compat.joining import open_join
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    licence = _read_licence(licence)
    settings = read_settings()
    with open_join(plan, ground) as joining:
        found = joining.found
        if found.bad and not skip_bad_rows:
            shown = "; ".join(f"{path.name} {str(bad)[:200]}" for path, bad in found.bad[:LISTED])
            more = f"; and {found.bad_rows - LISTED} more" if found.bad_rows > LISTED else ""
            raise SpecError(
                f"{found.bad_rows} rows cannot be read: {shown}{more}. "
                "Nothing is stored. Mend them, or leave them out with --skip-bad-rows."
            )
        name = benchmark or (found.domains.copy().pop() if len(found.domains) == 1 else "unified")
        with database(settings, create=True) as opened:
            job, new, verdicts = store_released(opened, settings, joining, name, split, licence, again)
        told = {
            "job": job, "new": new, "benchmark": name, "episodes": found.pairs, "planner_rows": found.rows["plan"],
            "grounder_rows": found.rows["ground"], "duplicates": found.duplicates, "bad_rows": found.bad_rows,
            "first_bad": f"{found.bad[0][0].name} {found.bad[0][1]}" if found.bad else "",
            "without_partner": {module: rows - found.pairs for module, rows in found.rows.items()},
            "other_plan": found.other_plan, "verdicts": dict(verdicts.most_common()),
        }  # fmt: skip
    output.result(told, _print_import)


def _read_licence(text: str) -> str:
    """Raises SpecError for what is no name of a licence."""
    from lumos_queue.errors import SpecError

    if not (found := text.strip()):
        raise SpecError("Under which licence may the rows be used? Say it with --licence, e.g. --licence 'CC BY 4.0'.")
    if len(found) > LONGEST_LICENCE or not found.isprintable():
        raise SpecError(
            f"--licence has {len(found)} characters: expected the licence's name in one line of printable text, "
            f"at most {LONGEST_LICENCE}, e.g. 'CC BY 4.0'."
        )
    return found


def _print_import(told: dict[str, Any]) -> None:
    known = "" if told["new"] else " (these files were imported before; --again stores them anew)"
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
                f"not have, {same_task} have other subgoals for it than the {other} file"
            )
    if told["duplicates"]:
        output.say(f"left out {told['duplicates']} rows that stand in their file a second time")
    if told["bad_rows"]:
        output.say(f"skipped {told['bad_rows']} bad rows; the first: {told['first_bad'][:300]}")
    for name, count in told["verdicts"].items():
        output.say(f"{name}: {count}")


def export_compat(
    raw: Annotated[Path, typer.Argument(metavar="RAW", help="Raw annotations: converted/*.json of the original.")],
    domain: Annotated[str, typer.Option(help="maths, complex_qa, web_agent or multimodal.")],
    out: Annotated[Path, typer.Option(help="Folder for the training files; it must not hold anything.")],
    skip_bad_rows: opt.SkipBad = False,
    json: opt.Json = False,
) -> None:
    """Make the original's training files from raw annotations, byte for byte, with its quirks."""
    from lumos_queue.compat.exporting import export_folder

    found = export_folder(raw, domain, out, skip_bad_rows)
    told = {
        "folder": str(out), "rows": found.rows, "dropped": found.dropped, "bad_rows": found.bad_rows,
        "first_bad": found.first_bad,
    }  # fmt: skip
    output.result(told, _print_export)


def _print_export(told: dict[str, Any]) -> None:
    output.show("\n".join(f"{count:>8}  {name}" for name, count in told["rows"].items()))
    output.show(f"in {told['folder']}")
    for module, count in told["dropped"].items():
        if count:
            output.say(
                f"{count} annotations are in the onetime {module} file only: the original makes no iterative row where "
                "a subgoal has no action or its last line sets no variable that it can number"
            )
    if told["bad_rows"]:
        output.say(f"skipped {told['bad_rows']} bad rows; the first: {told['first_bad'][:300]}")


def unify(
    out: Annotated[Path, typer.Option(help="The unified file; it must not exist.")],
    files: Annotated[list[Path], typer.Argument(
        metavar="[FILE]...", show_default=False, help="Training files, one for each domain.")] = [],
    direct: Annotated[list[Path], typer.Option(
        help="Instructions in Alpaca's form, mixed in to be answered directly. May be repeated.")] = [],
    json: opt.Json = False,
) -> None:  # fmt: skip
    """Put the training files of several domains one after the other, ids kept."""
    from lumos_queue.compat.mixing import unify as write_unified

    rows = write_unified(files, out, direct)
    output.result(
        {"file": str(out), "rows": rows},
        lambda told: output.show("\n".join(f"{count:>8}  {name}" for name, count in told["rows"].items())),
    )
