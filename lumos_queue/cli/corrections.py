"""Commands by which people review episodes: correct, label, rate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

_SUBGOAL = re.compile(r"\A\s*(?:Subgoal )?([0-9]{1,6})(?::|\s)\s*(.*)", re.DOTALL)
_ACTION = re.compile(r"\A\s*(?:Action )?([0-9]{1,6})-([0-9]{1,6})(?::|\s)\s*(.*)", re.DOTALL)
Episode = Annotated[str, typer.Argument(metavar="EPISODE", help="JOB-NUMBER, for example k3f9a2cd-17.")]


def correct(
    episode: Episode,
    subgoal: Annotated[
        list[str] | None, typer.Option("--subgoal", metavar="'2: TEXT'", help="Reword a subgoal; may be repeated.")
    ] = None,
    action: Annotated[
        list[str] | None,
        typer.Option("--action", metavar="'2-1: R2 = …'", help="Replace an action; may be repeated."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", help="The whole annotation, to add or remove steps; - reads standard input."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--print", help="Print the annotation in the format of --file; store nothing.")
    ] = False,
    name: opt.Name = "",
    tag: opt.Tags = [],
    json: opt.Json = False,
) -> None:
    """Store a corrected copy of an episode.

    Its actions run again, and the copy is checked like a converted annotation.
    """
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import SpecError
    from lumos_queue.review.corrections import annotation_text
    from lumos_queue.review.corrections import correct as store
    from lumos_queue.review.edits import Changes
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.tags import read_name_and_tags

    if bool(subgoal or action) + bool(file) + show != 1:
        raise SpecError("Give exactly one of: changes (--subgoal, --action), --file, or --print.")
    subgoals = {numbers[0]: text for numbers, text in _parse_changes("subgoal", _SUBGOAL, subgoal or ()).items()}
    actions = {
        (numbers[0], numbers[1]): text for numbers, text in _parse_changes("action", _ACTION, action or ()).items()
    }
    changes = Changes(subgoals, actions, _read_text(file))
    settings, name_and_tags = read_settings(), read_name_and_tags(name, tag)
    with database(settings) as job_database:
        if show:
            annotation = annotation_text(job_database, episode)
            output.result({"episode": episode, "annotation": annotation}, lambda _: output.show(annotation))
            return
        correction = store(job_database, settings, episode, changes, name_and_tags)
    output.result(
        {
            "episode": correction.episode,
            "parent": correction.parent,
            "level": correction.level or None,
            "answer": correction.answer,
            "verdicts": [
                {"module": verdict.module, "name": verdict.name, "detail": verdict.detail, "rejects": verdict.rejects}
                for verdict in correction.verdicts
            ],
        },
        _print_correction,
    )


def label(
    step: Annotated[
        str,
        typer.Argument(metavar="EPISODE[:STEP]", help="STEP: 2 is a subgoal, 2-1 its first action, @9 a position."),
    ],
    value: Annotated[str, typer.Argument(metavar="LABEL", help="right, wrong or unsure.")],
    note: Annotated[str, typer.Option(help="The reason, for later readers.")] = "",
    who: Annotated[str, typer.Option("--as", help="The labeller; default: LUMOS_USER, or user@host.")] = "",
    json: opt.Json = False,
) -> None:
    """Label an episode or one of its steps.

    The labels are right, wrong and unsure; a person's newest label counts.
    """
    from db.queries.episode_names import load_finished_trajectory
    from db.queries.step_names import locate_step
    from db.review.labels import NewLabel, add_labels, check
    from lumos_queue.deployment.database import database
    from lumos_queue.settings import read_settings

    settings = read_settings()
    who = who or settings.user
    check(value, who)
    name, colon, location = step.partition(":")
    with database(settings) as job_database:
        with job_database.engine.connect() as connection:
            trajectory = load_finished_trajectory(connection, name)
        position, branch = locate_step(trajectory.steps, location) if colon else (None, None)
        add_labels(job_database, [NewLabel(trajectory.episode.id, value, who, note, position, branch)])
    summary = {
        "episode": f"{trajectory.job.id}-{trajectory.item.ordinal}",
        "position": position,
        "branch": branch,
        "label": value,
        "labeller": who,
    }
    output.result(summary, lambda summary: output.show(f"{who} says: {step} is {summary['label']}"))


def rate(
    episode: Episode,
    rating: Annotated[str, typer.Argument(metavar="RATING", help="From 1, the worst, to 10, the best.")],
    note: Annotated[str, typer.Option(help="The reason, for later readers.")] = "",
    who: Annotated[str, typer.Option("--as", help="Who rates; default: LUMOS_USER, or user@host.")] = "",
    json: opt.Json = False,
) -> None:
    """Rate the output of an episode, from 1 to 10.

    A rating is stored as a label; a person's newest rating counts.
    """
    from db.queries.episode_names import load_finished_trajectory
    from db.queries.labels import RATINGS
    from db.review.labels import NewLabel, add_labels, check
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings

    if rating not in RATINGS:
        raise SpecError(f"'{rating[:40]}' is not a rating: expected a whole number from 1 to 10.")
    settings = read_settings()
    who = who or settings.user
    check(rating, who, RATINGS)
    with database(settings) as job_database:
        with job_database.engine.connect() as connection:
            trajectory = load_finished_trajectory(connection, episode)
        add_labels(job_database, [NewLabel(trajectory.episode.id, rating, who, note)])
    summary = {"episode": f"{trajectory.job.id}-{trajectory.item.ordinal}", "rating": int(rating), "labeller": who}
    output.result(summary, lambda summary: output.show(f"{who} rates {summary['episode']}: {rating} of 10"))


def _parse_changes(kind: str, form: re.Pattern[str], arguments: Iterable[str]) -> dict[tuple[int, ...], str]:
    """Return the new texts of steps by the steps' numbers: `2-1: R2 = …` becomes key `(2, 1)` with text `R2 = …`."""
    from lumos_queue.errors import SpecError

    changes: dict[tuple[int, ...], str] = {}
    for argument in arguments:
        if not (match := form.fullmatch(argument)):
            example = "'2: Calculate …'" if form is _SUBGOAL else "'2-1: R2 = Calculator(R1 + 3)'"
            raise SpecError(f"--{kind} '{argument[:80]}' does not say which {kind}: expected e.g. {example}.")
        *numbers, text = match.groups()
        position = tuple(map(int, numbers))
        if position in changes:
            raise SpecError(f"--{kind} {'-'.join(numbers)} is given twice.")
        changes[position] = text
    return changes


def _read_text(file: Path | None) -> str:
    import sys

    from lumos_queue.errors import SpecError
    from lumos_queue.util.regular_file import accept_pipe, read_regular_text

    accept_pipe(file)
    if file is None:
        return ""
    try:
        text = sys.stdin.read() if str(file) == "-" else read_regular_text(file, encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"'{file}' is not UTF-8 at byte {error.start}.") from None
    except OSError as error:
        raise SpecError(f"Cannot read '{file}': {error.strerror}.") from None
    if not text.strip():
        raise SpecError(f"'{file}' is empty.")
    return text


def _print_correction(correction: dict[str, Any]) -> None:
    from lumos_queue.cli.output import escape
    from lumos_queue.pages.trajectories import name_verdict

    console = output.console()
    level = correction["level"] or "not accepted"
    answer = "" if correction["answer"] is None else f", answer {correction['answer']}"
    console.print(escape(f"{correction['episode']} corrects {correction['parent']}: {level}{answer}"), soft_wrap=True)
    for verdict in correction["verdicts"]:
        mark = "" if verdict["rejects"] else " (noted)"
        console.print(
            escape(f"  {verdict['module']}{mark}: {name_verdict(verdict['name'], verdict['detail'])}"), soft_wrap=True
        )
