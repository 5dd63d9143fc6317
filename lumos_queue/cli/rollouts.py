"""Commands that continue stored episodes: rollouts, blame, reground."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.jobs.scheduling import Scheduling

if TYPE_CHECKING:
    from db.tags import NameAndTags
    from lumos_queue.cli.derived_jobs import DerivedOptions
    from lumos_queue.rollouts.derivation import Make

Where = Annotated[str, typer.Option(metavar="FILTER", help="Which episodes: as for lumos episodes (docs/queries.md).")]
Threshold = Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the rollouts that must be right.")]
Pairs = Annotated[Path | None, typer.Option(help="New file for preference pairs of the module at fault (JSON lines).")]
Labels = Annotated[Path | None, typer.Option(help="New file for stepwise labels of the module at fault.")]

AllowTest = Annotated[bool, typer.Option("--allow-test", help="Also write rows of test splits.")]


def rollouts(
    context: typer.Context,
    where: Where = "",
    at: Annotated[str, typer.Option(help="each: from every prefix; last: from all subgoals.")] = "each",
    unsettled: Annotated[bool, typer.Option("--unsettled", help="Only prefixes not yet right by gold.")] = False,
    agent: opt.AgentName = "",
    planner: opt.Planner = "",
    grounder: opt.Grounder = "",
    samples: opt.Samples = 4,
    seed: opt.Seed = 0,
    temperature: opt.Temperature = 0.7,
    top_p: opt.TopP = 1.0,
    max_tokens: opt.MaxTokens = 512,
    max_subgoals: opt.MaxSubgoals = 0,
    framing: opt.Framing = "train",
    role: opt.Roles = [],
    tool: opt.ToolOptions = [],
    at_limit: opt.AtLimit = "",
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    concurrency: opt.Concurrency = 0,
    json: opt.Json = False,
) -> None:
    """Continue stored episodes from their first subgoals.

    Submits an evaluation in which these subgoals are given and the models continue.
    """
    if context.invoked_subcommand:
        return
    from lumos_queue.cli.derived_jobs import DerivedOptions
    from lumos_queue.errors import unknown
    from lumos_queue.rollouts.stepwise import prefixes
    from lumos_queue.submission.tags import read_name_and_tags

    name_and_tags = read_name_and_tags(name, tag)
    if at not in ("each", "last"):
        raise unknown("place to continue from", at, ("each", "last"))
    roles = {"planner": planner, "grounder": grounder}
    options = DerivedOptions(
        where, agent, roles, samples, seed, temperature, top_p, max_tokens, max_subgoals, framing, role, tool, at_limit
    )
    scheduling = Scheduling(priority, concurrency)
    _submit(options, prefixes(at, unsettled), name_and_tags, scheduling, again, follow, "lumos rollouts report {}")


def rollouts_report(
    job: opt.JobId,
    threshold: Threshold = 0.5,
    out: Annotated[Path | None, typer.Option(help="New file for stepwise labels (JSON lines, TRL's columns).")] = None,
    allow_test: AllowTest = False,
    json: opt.Json = False,
) -> None:
    """Show which subgoals were right.

    A subgoal is judged by the gold values, else by the results of the rollouts that start from it.
    """
    from lumos_queue.builds.lines import new_lines
    from lumos_queue.rollouts.report import report_rollouts
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    with database(read_settings()) as job_database, new_lines(out) as write:
        report = report_rollouts(job_database, job, threshold, write, allow_test)
    _warn(report)
    output.result(report, _print_labels)


def blame(
    context: typer.Context,
    where: Where = "",
    agent: opt.AgentName = "",
    planner: opt.Planner = "",
    grounder: opt.Grounder = "",
    samples: opt.Samples = 1,
    seed: opt.Seed = 0,
    temperature: opt.Temperature = 0.0,
    top_p: opt.TopP = 1.0,
    max_tokens: opt.MaxTokens = 512,
    max_subgoals: opt.MaxSubgoals = 0,
    framing: opt.Framing = "train",
    role: opt.Roles = [],
    tool: opt.ToolOptions = [],
    at_limit: opt.AtLimit = "",
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    concurrency: opt.Concurrency = 0,
    json: opt.Json = False,
) -> None:
    """Find the module at fault in failed episodes.

    Submits two evaluations of these episodes: one with a gold planner, one with a gold grounder.

    Give the models that ran the episodes: if a prompt is the same, its recorded reply is used again.
    """
    if context.invoked_subcommand:
        return
    from lumos_queue.cli.derived_jobs import DerivedOptions
    from lumos_queue.rollouts.blame import replacements
    from lumos_queue.submission.tags import read_name_and_tags

    name_and_tags = read_name_and_tags(name, tag)
    roles = {"planner": planner, "grounder": grounder}
    options = DerivedOptions(
        where, agent, roles, samples, seed, temperature, top_p, max_tokens, max_subgoals, framing, role, tool, at_limit
    )
    scheduling = Scheduling(priority, concurrency)
    _submit(options, replacements, name_and_tags, scheduling, again, follow, "lumos blame report {} {}")


def blame_report(
    jobs: Annotated[list[str], typer.Argument(metavar="JOB JOB", help="The two jobs, in either order.")],
    threshold: Threshold = 0.5,
    pairs: Pairs = None,
    labels: Labels = None,
    allow_test: AllowTest = False,
    json: opt.Json = False,
) -> None:
    """Show which module is at fault in each episode.

    The answer is planner, grounder, both or neither, for each failed episode of the two jobs.
    """
    from lumos_queue.builds.lines import new_lines
    from lumos_queue.rollouts.blame_report import report_blame
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    with database(read_settings()) as job_database, new_lines(pairs) as write_pair, new_lines(labels) as write_labels:
        report = report_blame(job_database, jobs, threshold, write_pair, write_labels, allow_test)
    _warn(report)
    output.result(report, _print_faults)


def reground(
    where: Where = "",
    agent: opt.AgentName = "",
    grounder: opt.Grounder = "",
    samples: opt.Samples = 1,
    seed: opt.Seed = 0,
    temperature: opt.Temperature = 0.0,
    top_p: opt.TopP = 1.0,
    max_tokens: opt.MaxTokens = 512,
    max_subgoals: opt.MaxSubgoals = 0,
    framing: opt.Framing = "train",
    role: opt.Roles = [],
    tool: opt.ToolOptions = [],
    at_limit: opt.AtLimit = "",
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    concurrency: opt.Concurrency = 0,
    json: opt.Json = False,
) -> None:
    """Ground the stored plans of episodes again.

    Submits an evaluation with the stored subgoals, new actions by the grounder, and their results.
    """
    from lumos_queue.cli.derived_jobs import DerivedOptions
    from lumos_queue.rollouts.derivation import regroundings
    from lumos_queue.submission.tags import read_name_and_tags

    name_and_tags = read_name_and_tags(name, tag)
    options = DerivedOptions(
        where,
        agent,
        {"grounder": grounder},
        samples,
        seed,
        temperature,
        top_p,
        max_tokens,
        max_subgoals,
        framing,
        role,
        tool,
        at_limit,
    )
    scheduling = Scheduling(priority, concurrency)
    _submit(options, regroundings, name_and_tags, scheduling, again, follow, "lumos report {}")


def _submit(
    options: DerivedOptions,
    make: Make,
    name_and_tags: NameAndTags,
    scheduling: Scheduling,
    again: bool,
    follow: bool,
    read_command: str,
) -> None:
    from lumos_queue.cli.derived_jobs import submit_derived
    from lumos_queue.settings import read_settings

    settings = read_settings()
    follow = follow or not settings.broker_url
    selection, jobs, code = submit_derived(
        settings, options, make, name_and_tags=name_and_tags, scheduling=scheduling, again=again, follow=follow
    )
    names = list(jobs.values())

    def print_submitted(summary: dict[str, Any]) -> None:
        for reason, count in summary["left_out"].items():
            output.show(f"left out: {count} episodes ({reason})")
        output.show(
            f"{summary['episodes']} episodes are continued. Read the result with: {read_command.format(*names)}"
        )

    output.result(selection | {"jobs": names}, print_submitted)
    raise typer.Exit(code)


def _warn(report: dict[str, Any]) -> None:
    """Print warnings about the written files on standard error."""
    if report["of_test_split"]:
        output.say(
            f"{report['of_test_split']} rows are of a test split and were not written (--allow-test writes them)"
        )
    if report["warning"]:
        output.say(report["warning"])


def _print_labels(report: dict[str, Any]) -> None:
    output.show(
        f"{report['episodes']} episodes, {report['subgoals']} subgoals; of {report['rollouts']} rollouts "
        f"{report['ended']} have ended, {report['right']} are right"
    )
    _print_shares(report["labels"], report["subgoals"])
    output.show(f"{report['rows']} rows with all labels known" + _format_missing(report))


def _print_faults(report: dict[str, Any]) -> None:
    output.show(f"{report['episodes']} failed episodes; at fault:")
    _print_shares(report["faults"], report["episodes"])
    pairs = report["pairs"]
    counts = f"{pairs['planner']} of the planner, {pairs['grounder']} of the grounder"
    output.show(f"preference pairs: {counts}" + _format_missing(report))


def _print_shares(counts: dict[str, int], whole: int) -> None:
    for name, count in counts.items():
        output.show(f"  {name:<18} {count:>7}  {100 * count / whole:5.1f} %")


def _format_missing(report: dict[str, Any]) -> str:
    return f"; {report['gone']} episodes are no longer in the database" if report["gone"] else ""
