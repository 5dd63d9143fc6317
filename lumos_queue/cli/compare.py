"""`lumos compare`: compare jobs task by task, or two episodes step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.submission.requests.option import MAX_INTEGER
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    from db.engine.connection import Connection
    from lumos_queue.reports.comparison import Options
    from lumos_queue.reports.comparison_values import JobsComparison


def compare(
    jobs: Annotated[
        list[str],
        typer.Argument(metavar="A B [C...]", help="Jobs: each is compared with the first. Or two episodes JOB-NUMBER."),
    ],
    metric: Annotated[str, typer.Option(help="The metric to compare; default: the benchmark's main metric.")] = "",
    common: Annotated[
        bool, typer.Option("--common", help="Compare different or unfinished jobs on the tasks that both have judged.")
    ] = False,
    max_tasks: Annotated[
        int,
        typer.Option("--list", min=0, max=MAX_INTEGER, help="Number of fixed and of broken tasks that are listed."),
    ] = 5,
    by: opt.By = [],
    show: Annotated[
        int, typer.Option(min=0, max=100, help="Number of fixed and of broken tasks of which both episodes are shown.")
    ] = 0,
    price_prompt: Annotated[float | None, typer.Option(min=0.0, help="USD per million prompt tokens.")] = None,
    price_completion: Annotated[float | None, typer.Option(min=0.0, help="USD per million completion tokens.")] = None,
    json: opt.Json = False,
) -> None:
    """Compare jobs on the same tasks.

    Shows the tasks that a change fixed and broke, the difference with its interval and p-value, and costs per right
    answer. For two episodes, shows their steps side by side.
    """
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import SpecError
    from lumos_queue.pages.sections.step_pair import step_pair
    from lumos_queue.reports.comparison import Options
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.reports.step_pairs import pair_episodes
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database, job_database.engine.connect() as connection:
        if len(jobs) == 2 and all("-" in name for name in jobs):
            if by:
                raise SpecError("--by is for jobs: leave it out to compare two episodes.")
            pair = pair_episodes(connection, jobs)
            output.result(as_json(pair), lambda _: output.print_page(*step_pair(pair)))
            return
        options = Options(metric, common, max(max_tasks, show), _prices(price_prompt, price_completion), by)
        compared = _compare_jobs(connection, jobs, options, show)
    output.result(as_json(compared), lambda _: _print(compared, max_tasks))


def _print(compared: JobsComparison, max_tasks: int) -> None:
    """Print a comparison, with at most `max_tasks` fixed and broken tasks for each pair of jobs."""
    from lumos_queue.pages.sections.step_pair import step_pair

    with import_libraries():
        from lumos_queue.pages.sections.comparison import comparison
    output.print_page(*comparison([compared], max_tasks))
    for pair in compared.comparisons:
        for episodes in pair.side_by_side or ():
            output.show("")
            output.print_page(*step_pair(episodes))


def _prices(prompt: float | None, completion: float | None) -> tuple[float, float] | None:
    """Return both prices, or None without prices. Raises SpecError for a single price or one that is not finite."""
    import math

    from lumos_queue.errors import SpecError

    if prompt is None and completion is None:
        return None
    if prompt is None or completion is None:
        raise SpecError("The cost per right answer needs both prices: --price-prompt USD --price-completion USD.")
    if not math.isfinite(prompt + completion):
        raise SpecError("Prices must be finite numbers, in USD per million tokens.")
    return prompt, completion


def _compare_jobs(connection: Connection, names: Sequence[str], options: Options, show: int) -> JobsComparison:
    from db.queries.jobs import get_job
    from lumos_queue.reports.comparison import compare_jobs
    from lumos_queue.reports.step_pairs import pair_episodes

    compared = compare_jobs(connection, [get_job(connection, name) for name in names], options)
    if not show:
        return compared
    comparisons = []
    for pair in compared.comparisons:
        changed_tasks = [*pair.fixed_pairs[:show], *pair.broken_pairs[:show]]
        episodes = [pair_episodes(connection, (task.a, task.b)) for task in changed_tasks]
        comparisons.append(replace(pair, side_by_side=episodes))
    return replace(compared, comparisons=comparisons)
