"""Format a job's live progress as lines, for `--follow`, for runs in this process, and for `lumos watch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from db.kinds.job_kinds import JobKind
from db.kinds.states import ItemState, JobState
from db.queue.stored_jobs import StoredJob
from lumos_queue.cli.live_training import describe_training
from lumos_queue.cli.output import harmless
from lumos_queue.live.figures import JobFigures, measure_score
from lumos_queue.live.fit_progress import describe_shortly, find_only_fit, select_current
from lumos_queue.live.pace import Pace
from lumos_queue.live.waits import describe_awaited
from lumos_queue.util.wording import (
    format_interval,
    format_mean,
    format_range,
    format_rate,
    format_rough_seconds,
    format_share,
    is_share,
)

MAX_NAME = 40  #: characters shown of a job's name


def format_line(figures: JobFigures) -> str:
    """Return a line with the job's state and progress, for output that is not a terminal."""
    row = figures.row
    items = f"{row.id}  {row.state}  {figures.done:,}/{row.items:,} items{describe_awaited(row, figures.awaited)}"
    fits = [] if figures.awaited else select_current(figures.fits)
    return "  ".join([items, *map(describe_shortly, fits)])


def format_remaining(figures: JobFigures, pace: Pace) -> str:
    """Return the remaining time, as in `3 min left`; '' if the pace is unknown, the job waits, or it has ended.

    It is also '' for a training job whose fits are reported, because their lines have the remaining time.
    """
    if figures.fits or (figures.holder.waiting and not figures.items.get(ItemState.CLAIMED)):
        return ""
    seconds = pace.seconds_left(figures.row.items - figures.done)
    return "" if seconds is None else f"{format_rough_seconds(seconds)} left"


def format_score(figures: JobFigures) -> str:
    """Return the score as in `45/110 = 40.9 %  [32.2, 50.3]`, and the range that it can still reach; '' without one.

    A mean that is no share has neither: `mean 520 of 110`.
    """
    if (measurement := measure_score(figures)) is None:
        return ""
    if not is_share(measurement["value"]):
        return f"{format_mean(measurement['value'])} of {measurement['scored']:,}"
    share = (
        f"{figures.score[0]:,g}/{measurement['scored']:,} = {format_share(measurement['value'])}  "
        f"{format_interval(*measurement['ci95'])}"
    )
    if measurement["scored"] >= figures.row.items:
        return share
    return f"{share}  whole job {format_range(*measurement['bounds'])}"


def job_block(figures: JobFigures, pace: Pace, further: Sequence[str] = ()) -> Any:
    """Return the lines about a job, which rich fits to any width. The `further` lines, about waits, come last."""
    from rich.console import Group
    from rich.text import Text

    row = figures.row
    if row.kind == JobKind.TRAIN:  # its items call no model
        lines = describe_training(figures, pace.items_per_second)
    else:
        rates = (
            f"{format_rate(pace.items_per_second)} items/s · {format_rate(pace.tokens_per_second)} tokens/s · "
            if pace.is_known
            else ""
        )
        lines = [f"{rates}{figures.sums.totals.calls:,} calls · {figures.tokens:,} tokens"]
    if figures.endings:
        lines.append("endings  " + "  ".join(f"{name} {count:,}" for name, count in sorted(figures.endings.items())))
    if score := format_score(figures):
        lines.append(f"score so far  {score}")
    if total := sum(figures.phases.values()):
        shares = "  ".join(f"{name} {format_share(seconds / total)}" for name, seconds in figures.phases.items())
        lines.append(f"time in  {shares}")
    return Group(*job_head(figures, pace), *map(Text, lines), *(Text(line, style="yellow") for line in further))


def job_head(figures: JobFigures, pace: Pace) -> list[Any]:
    """Return two lines: the job's title and its progress bar."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    row = figures.row
    title = Text(no_wrap=True, overflow="ellipsis")
    title.append(row.id, "bold")
    title.append(f"  {row.state}", _STYLES.get(row.state, ""))
    title.append(f"  {describe(row)}")
    bar = Table.grid(padding=(0, 2), expand=False)
    bar.add_column(max_width=40)
    bar.add_column(no_wrap=True)
    bar.add_column(no_wrap=True)
    total, completed = max(row.items, 1), min(figures.done, row.items)
    items = f"{figures.done:,}/{row.items:,}"
    text = f"{items}  {format_share(figures.done / total)}"
    if progress := find_only_fit(figures.fits):
        total, completed, text = progress.steps, progress.step, f"{items} items"
    bar.add_row(ProgressBar(total=total, completed=completed), text, format_remaining(figures, pace))
    return [title, bar]


_STYLES: dict[str, str] = {
    JobState.RUNNING: "green",
    JobState.DONE: "green",
    JobState.FAILED: "red",
    JobState.PAUSED: "yellow",
    JobState.CANCELLED: "yellow",
}


def describe(row: StoredJob) -> str:
    """Return a line with the job's request and its name."""
    name = " ".join(harmless(row.name[: 4 * MAX_NAME]).split())
    if len(name) > MAX_NAME:
        name = name[: MAX_NAME - 1] + "…"
    request = " ".join(filter(None, (row.kind, row.benchmark, row.formulation)))
    return f'{request}  "{name}"' if name else request
