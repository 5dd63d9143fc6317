"""Commands of audits: sample accepted annotations or runs, label them, and report on the labels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.submission.requests.option import MAX_INTEGER
from lumos_queue.util.wording import format_bytes, plural

_FILE = (
    "Labels from a file: JSON lines, or .csv with a header. Columns: place (or episode: JOB-NUMBER), label, and "
    "optionally step, kind, note and as (the labeller). Or the JSON that Label Studio or Argilla exports. A label that "
    "the person gave already is not stored again."
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The audit's name.")]
As = Annotated[str, typer.Option("--as", help="The labeller; default: LUMOS_USER, or user@host.")]


def draw(
    name: Name,
    where: Annotated[
        str, typer.Option(metavar="FILTER", help="Only matching episodes, as for lumos episodes (docs/queries.md).")
    ] = "",
    runs: Annotated[
        bool, typer.Option("--runs", help="Draw from episodes of lumos evaluate and infer, not from annotations.")
    ] = False,
    size: Annotated[int, typer.Option(min=1, max=100_000, help="The size of the sample.")] = 100,
    twice: Annotated[
        float, typer.Option(min=0, max=1, help="The share that two people label in the explorer, for example 0.2.")
    ] = 0.0,
    seed: opt.Seed = 0,
    by: Annotated[
        str,
        typer.Option(
            metavar="PROPERTIES",
            show_default="level,subgoals",
            help="Of annotations, the properties of strata, beside the benchmark: level, subgoals, rule (version of "
            "the rules, or teacher), note (verdicts that reject nothing); separated by commas.",
        ),
    ] = "",
    at_least: Annotated[
        int, typer.Option(min=1, max=100_000, help="The smallest part of the sample from each stratum, or all of it.")
    ] = 1,
    json: opt.Json = False,
) -> None:
    """Draw a sample of accepted annotations, or of runs.

    The sample is stratified by benchmark, number of subgoals, and check level (for runs: score), or by the properties
    of --by.
    """
    from db.review.audits import sample_audit
    from lumos_queue.deployment.database import database
    from lumos_queue.pages.sections.audit import draw as draw_blocks
    from lumos_queue.reports.audit_sample import summarize_sample
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.scoring.annotation_strata import read_stratum_keys
    from lumos_queue.scoring.sampling import AuditKind
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.filters import read_where

    keys = read_stratum_keys(by)
    with database(read_settings()) as job_database:
        kind = AuditKind.RUNS if runs else AuditKind.ANNOTATIONS
        query = read_where(job_database, where)
        samples = sample_audit(job_database, name, query, size, seed, kind, twice, keys=keys, at_least=at_least)
    summary = summarize_sample(name, kind, samples, seed, [] if runs else keys)
    output.result(as_json(summary), lambda _: output.print_page(*draw_blocks(summary)))


def next_(name: Name, who: As = "", json: opt.Json = False) -> None:
    """Show the next annotation or run to label.

    Hides the labels of other people; for a run, also hides scores and verdicts. If the audit was drawn with
    --twice, places that still lack labels come first.
    """
    from db.queries.episode_names import trajectory_of
    from db.review.audits import get_audit, next_of, samples_of
    from lumos_queue.cli.audit_labels import LabellerTurn, print_next
    from lumos_queue.deployment.database import database
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.reports.trajectory import describe_trajectory
    from lumos_queue.review.suggestions import without_suggestions
    from lumos_queue.scoring.sampling import AuditKind
    from lumos_queue.settings import read_settings

    settings = read_settings()
    who = who or settings.user
    with database(settings) as job_database, job_database.engine.connect() as connection:
        audit = get_audit(connection, name)
        samples = samples_of(connection, audit.name)
        next_sample = next_of(samples, who, audit.twice > 0)
        remaining = sum(who not in sample.labels for sample in samples)
        episode = describe_trajectory(trajectory_of(connection, next_sample.episode)) if next_sample else None
    if episode and audit.kind == AuditKind.RUNS:
        episode = without_suggestions(episode)
    turn = LabellerTurn(name, who, next_sample.number if next_sample else None, len(samples), remaining, episode)
    output.result(as_json(turn), lambda _: print_next(turn))


def label(
    name: Name,
    place: Annotated[int, typer.Argument(min=0, max=MAX_INTEGER, help="As lumos audit next shows it.")] = 0,
    value: Annotated[str, typer.Argument(metavar="LABEL", help="right, wrong or unsure.")] = "",
    step: Annotated[
        str, typer.Option(help="The wrong step: 2 (a subgoal), 2-1 (its first action) or @9 (by position).")
    ] = "",
    kind: Annotated[
        str, typer.Option(help="The kind of fault of a label wrong: link, number, sub-question, result or wording.")
    ] = "",
    note: Annotated[str, typer.Option(help="The reason, for later readers.")] = "",
    who: As = "",
    file: Annotated[Path | None, typer.Option("--from", help=_FILE)] = None,
    json: opt.Json = False,
) -> None:
    """Label the annotation or run at a place of the sample.

    The labels are right, wrong and unsure; a person's newest label counts. A label wrong can name the first wrong step
    and the kind of fault.
    """
    from db.queries.step_locations import StepLocator
    from db.review.audits import get_audit, samples_of
    from db.review.labels import NewLabel, add_labels, check, check_fault, new_labels
    from lumos_queue.cli.audit_labels import print_progress
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import SpecError
    from lumos_queue.review.label_files import places_text, read_labels
    from lumos_queue.settings import read_settings
    from lumos_queue.util.regular_file import accept_pipe

    settings = read_settings()
    who = who or settings.user
    if bool(file) == bool(place) or bool(file) == bool(value):
        raise SpecError(
            "Give a place and a label (right, wrong or unsure), or a file of labels: lumos audit label NAME --from FILE"
        )
    if file and (step or kind or note):
        raise SpecError("--step, --kind and --note belong to a place: the rows of a file have fields of these names.")
    accept_pipe(file)
    if not file:
        check(value, who)
        check_fault(value, kind, bool(step))
    with database(settings) as job_database:
        with job_database.engine.connect() as connection:
            samples = samples_of(connection, get_audit(connection, name).name)
            locator = StepLocator(connection)
            if file:
                submitted_labels = read_labels(file, name, samples, who, locator.locate)
                labels = new_labels(connection, submitted_labels)
            else:
                episodes = {sample.number: sample.episode for sample in samples}
                if place not in episodes:
                    raise SpecError(f"The audit '{name}' has no place {place}: its places are {places_text(samples)}.")
                episode = episodes[place]
                position, branch = locator.locate(episode, step) if step else (None, None)
                fault = {"wrong_position": position, "wrong_branch": branch, "wrong_kind": kind}
                submitted_labels = labels = [NewLabel(episode, value, who, note, audit=name, **fault)]
        add_labels(job_database, labels)
        with job_database.engine.connect() as connection:
            samples = samples_of(connection, name)
    people = sorted({new_label.labeller for new_label in submitted_labels})
    remaining = {person: sum(person not in sample.labels for sample in samples) for person in people}
    output.result({"audit": name, "labelled": len(labels), "left": remaining}, print_progress)


def report(
    name: Name,
    who: Annotated[str, typer.Option("--as", help="Use only this labeller's labels.")] = "",
    json: opt.Json = False,
) -> None:
    """Show the results of the labels, with 95 % intervals.

    For annotations, the report has the precision of the acceptance check. For runs, it has the share that is right and
    the agreement of the metric with people. Both have the agreement of the labellers.
    """
    from db.review.audits import get_audit, samples_of
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import unknown
    from lumos_queue.pages.sections.audit import audit as audit_blocks
    from lumos_queue.reports.audit import make_audit_report
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database, job_database.engine.connect() as connection:
        audit = get_audit(connection, name)
        samples = samples_of(connection, audit.name)
    audit_report = make_audit_report(audit, samples, who)
    if who and who not in audit_report.labellers:
        raise unknown("labeller", who, audit_report.labellers)
    output.result(as_json(audit_report), lambda _: output.print_page(*audit_blocks(audit_report)))


def export(
    name: Name,
    form: Annotated[str, typer.Option("--format", help="label-studio or argilla: the JSON that each imports.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The new file.")],
    json: opt.Json = False,
) -> None:
    """Write the places of the sample, with their labels, to a file for another program.

    Read the labels of that program with: lumos audit label NAME --from FILE
    """
    from db.review.audits import get_audit, samples_of
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import unknown
    from lumos_queue.review.label_export import FORMATS, write_labels
    from lumos_queue.settings import read_settings
    from lumos_queue.util.new_file import require_new, write_new

    if form not in FORMATS:
        raise unknown("format", form, FORMATS)
    require_new(out)
    with database(read_settings()) as job_database, job_database.engine.connect() as connection:
        samples = samples_of(connection, get_audit(connection, name).name)
        size = write_new(out, write_labels(connection, name, samples, form))
    summary = {"audit": name, "format": form, "places": len(samples), "file": str(out), "bytes": size}
    output.result(
        summary,
        lambda _: output.show(f"{plural(len(samples), 'place is', 'places are')} in {out} ({format_bytes(size)})"),
    )
