"""`lumos train sweep`: run a sweep and show its results."""

from __future__ import annotations

import json as json_module
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.exit_codes import Exit

if TYPE_CHECKING:
    from db.kinds.name_and_tags import NameAndTags
    from lumos_queue.deployment.deployment import Deployment
    from lumos_queue.sweeps.carry_out import Submission

RESULT, PLOT = "sweep.json", "sweep.svg"


def train_sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The sweep as TOML: see examples/sweeps.")],
    folder: Annotated[Path, typer.Option(help="For builds, models and the report; all workers need access to it.")],
    data: Annotated[Path, typer.Option(help="Folder to which paths of original files in FILE are relative.")] = Path(),
    name: opt.Name = "",
    tag: opt.Tags = [],
    json: opt.Json = False,
) -> None:
    """Train many models and compare them.

    Every combination of annotations, formulations, modules and seeds is trained and evaluated. Prints one table with
    intervals, and writes it to --folder as JSON and as a plot. The same command resumes a sweep that was stopped.
    Exit code 3: some model could not be trained or evaluated.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.pages.blocks import Text
    from lumos_queue.pages.sections.sweep import sweep as sweep_blocks
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.submission.tags import read_name_and_tags
    from lumos_queue.sweeps.carry_out import carry_out
    from lumos_queue.sweeps.plan import read_plan
    from lumos_queue.sweeps.plot import write_plot
    from lumos_queue.sweeps.report import report_sweep
    from lumos_queue.util.regular_file import accept_pipe

    accept_pipe(file)
    deployment, plan, name_and_tags = open_deployment(), read_plan(file), read_name_and_tags(name, tag)
    folder = folder.resolve()
    fits, sizes = carry_out(
        plan, data, folder, deployment, lambda submissions: _work(deployment, submissions, name_and_tags), output.say
    )
    with deployment.database.engine.connect() as connection:
        report = report_sweep(connection, plan, fits, sizes)
    (folder / RESULT).write_text(
        json_module.dumps(as_json(report), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    rules = {name: benchmark.rule for name, benchmark in report.benchmarks.items()}
    write_plot(report.title, rules, {row.label: row.scores for row in report.rows}, folder / PLOT)
    files = [str(folder / RESULT), str(folder / PLOT)]
    output.result(
        as_json(replace(report, files=files)), lambda _: output.print_page(*sweep_blocks(report), *map(Text, files))
    )
    raise typer.Exit(Exit.FINE if report.complete else Exit.INCOMPLETE)


def _work(deployment: Deployment, submissions: list[Submission], name_and_tags: NameAndTags) -> list[tuple[str, str]]:
    """Run the jobs in this process, or queue them for workers and wait. Return each job's id and state."""
    from db.queries.jobs import get_job
    from lumos_queue.cli.run import submit_and_run
    from lumos_queue.submission.submit_options import SubmitOptions

    def submit(submission: Submission, follow: bool) -> str:
        job, code = submit_and_run(
            deployment,
            submission.job,
            submission.rows,
            SubmitOptions(name_and_tags),
            windows=submission.windows,
            follow=follow,
            report_existing=False,
        )
        if code == Exit.INTERRUPTED:
            output.say("to continue the sweep, run the same command again")
            raise typer.Exit(code)
        return job

    if deployment.broker:
        for submission in submissions:
            submit(submission, follow=False)
    job_ids = [submit(submission, follow=True) for submission in submissions]
    with deployment.database.engine.connect() as connection:
        return [(job, get_job(connection, job).state) for job in job_ids]
