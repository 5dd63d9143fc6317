"""Print `lumos jobs` as text: one line for each job, with as many columns as fit the terminal."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from db.kinds.job_kinds import JobKind
from lumos_queue.cli import output
from lumos_queue.cli.text_columns import Column, fit_columns, pad, plain_column, truncate
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.reports.listed_job import ListedJob, ScoreSoFar
from lumos_queue.reports.real_state import WAITED, RealState
from lumos_queue.row_origins.origins import RowState
from lumos_queue.util.wording import (
    format_cell,
    format_interval,
    format_mean,
    format_rough_seconds,
    format_short_count,
    is_share,
)

_UNLIMITED = 1_000  #: terminal cells of a line where a program reads the list
_ROOMY = 100  #: terminal cells from which columns are two spaces apart
_STATE_LEAST = 18  #: terminal cells of `nobody works on it`
_WORK_LEAST = 18  #: terminal cells; a benchmark and its formulation matter more than the end of a long name
_STYLES = {
    RealState.RUNNING: "green",
    RealState.WAITING: "yellow",
    RealState.STOPPING: "yellow",
    RealState.PAUSED: "yellow",
    RealState.INCOMPLETE: "yellow",
    RealState.NOBODY: "red",
    RealState.FAILED: "red",
    RealState.DAMAGED: "red",
}


def print_jobs(jobs: Sequence[ListedJob], has_older: bool, where: str = "") -> None:
    """Print the list. Print on standard error how to run jobs that no worker runs, and how to list older jobs."""
    console = output.console()
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else _UNLIMITED
    gap = 2 if width >= _ROOMY else 1
    if jobs:
        all_columns = _columns(jobs)
        columns = fit_columns(all_columns, width, gap)
        visible = [column.head for column, _ in columns]
        hidden_heads = [column.head for column in all_columns if column.head not in visible]
        separator = " " * gap
        heads = separator.join(pad(truncate(column.head, size), size) for column, size in columns)
        console.print(Text(heads.rstrip(), "bold"), soft_wrap=True)
        for row, job in enumerate(jobs):
            line = Text(no_wrap=True)
            for column, size in columns:
                style = _STYLES.get(RealState(job.real_state), "") if column.head.endswith("state") else ""
                line.append(pad(column.show(row, size), size), style)
                line.append(separator)
            line.rstrip()
            console.print(line, soft_wrap=True)
        if hidden_heads:
            output.say(f"no room for: {', '.join(hidden_heads)}. A wider terminal shows more, and --json all of it")
    else:
        output.say("no job matches")
    for reason, job_ids in _jobs_alone(jobs).items():
        target = job_ids[0] if len(job_ids) == 1 else "JOB"
        advice = reason or f"continue with lumos resume {target}, or start a worker with lumos worker"
        output.say(f"nobody works on {', '.join(job_ids[:3])}{', …' if len(job_ids) > 3 else ''}: {advice}")
    if has_older:
        filter_words = ["--where", where] if where else []
        output.say(f"older jobs: {shlex.join(['lumos', 'jobs', *filter_words, '--before', jobs[-1].job])}")


def print_traffic(traffic: Mapping[str, Traffic]) -> None:
    """Print on standard error a line for each endpoint (by URL) that has requests in flight or waiting."""
    for url, use in traffic.items():
        if use.in_flight or use.waiting:
            output.say(f"{output.harmless(url)}: {use.describe()}")


def _jobs_alone(jobs: Sequence[ListedJob]) -> dict[str, list[str]]:
    """Return the jobs that no worker runs, by the reason why the live workers cannot; '': no worker is alive."""
    jobs_by_reason: dict[str, list[str]] = {}
    for job in jobs:
        if job.real_state == RealState.NOBODY:
            reason = "" if job.reason.startswith(WAITED) else job.reason
            jobs_by_reason.setdefault(reason, []).append(job.job)
    return jobs_by_reason


def _columns(jobs: Sequence[ListedJob]) -> list[Column]:
    """Return, in order, the columns that have content for at least one of these jobs."""

    def column(head: str, cells: list[str], least: int, rank: int, middle: bool = False) -> list[Column]:
        safe = [output.harmless(" ".join(cell.split())) for cell in cells]
        return [plain_column(head, safe, least, rank, middle)] if any(safe) else []

    tags = [" ".join(f"{key}={value}" for key, value in job.tags.items()) for job in jobs]
    return [
        *column("job", [job.job for job in jobs], 8, 0),
        *column("name", [job.name for job in jobs], 8, 3),
        *column("model", ["+".join(dict.fromkeys(job.models.values())) for job in jobs], 7, 5, middle=True),
        *column("benchmark", [_describe_work(job) for job in jobs], _WORK_LEAST, 4),
        _state_column(jobs),
        *column("items", [_format_progress(job.done, job.items) for job in jobs], 11, 2),
        *column("age", [format_rough_seconds(job.age) for job in jobs], 6, 6),
        *column("tags", tags, 8, 7),
        *column("rows", [_describe_rows(job) for job in jobs], 8, 8),
    ]


def _describe_rows(job: ListedJob) -> str:
    """Return `not verified`, or `stated` if --published is the only evidence that the rows are published; else ''."""
    state = job.row_origin.state if job.row_origin else ""
    return state if state in (RowState.UNVERIFIED, RowState.STATED) else ""


def _describe_work(job: ListedJob) -> str:
    """Return the job's work in a few words: `gsm8k iterative`, `convert gsm8k`, `train sft`."""
    words: dict[str, tuple[str, ...]] = {
        JobKind.EVALUATE: (job.benchmark, job.formulation),
        JobKind.INFER: ("infer", job.benchmark, job.formulation),
        JobKind.TRAIN: ("train", job.recipe, job.benchmark, job.formulation),
    }
    return " ".join(filter(None, words.get(job.kind, (job.kind, job.benchmark))))


def _state_column(jobs: Sequence[ListedJob]) -> Column:
    """Return the column of score and state. If a job has no score, its state fills the whole column."""
    scores = [_format_score(job.score, job.by_outcome) for job in jobs]
    states = [_describe_state(job) for job in jobs]
    score_width = max(map(cell_len, scores))

    def show(row: int, width: int) -> str:
        score, (state, words) = scores[row], states[row]
        if not score:
            return truncate(words, width)
        if score_width + 1 + cell_len(state) <= width:
            return f"{pad(score, score_width)} {truncate(words, width - score_width - 1)}"
        score_and_state = f"{score} {state}"
        return score_and_state if cell_len(score_and_state) <= width else truncate(words, width)

    head = f"{pad('score, % [95 %]', score_width)} state" if score_width else "state"
    state_start = score_width + bool(score_width)  # a score and a space
    scored_widths = [cell_len(state) for score, (state, _) in zip(scores, states, strict=True) if score]
    natural_widths = [
        cell_len(words) + bool(score) * state_start for score, (_, words) in zip(scores, states, strict=True)
    ]
    least = max(_STATE_LEAST, state_start + max([len("state"), *scored_widths]))
    return Column(head, max(cell_len(head), *natural_widths), least, 0, show)


def _describe_state(job: ListedJob) -> tuple[str, str]:
    """Return two texts: the state alone, and the state with the reason why the job waits or stopped."""
    state = str(job.real_state)
    reason = "" if state == RealState.NOBODY else output.harmless(" ".join(job.remark.split()))
    return state, f"{state}: {reason}" if reason else state


def _format_score(score: ScoreSoFar | None, by_outcome: bool) -> str:
    """Return the score in percent with its interval; for an unfinished evaluation, the range that it can still reach.

    If tasks were chosen by their outcomes in another job, their score is no accuracy and has no interval.
    """
    if not score:
        return ""
    if score.bounds:
        low, high = score.bounds
        return f"{format_cell(low)} to {format_cell(high)}"
    if not is_share(score.value):
        return format_mean(score.value)
    if by_outcome:
        return f"{format_cell(score.value)} of chosen"
    if score.ci95 is None:
        return format_cell(score.value)
    return f"{format_cell(score.value)} {format_interval(*score.ci95)}"


def _format_progress(completed: int, items: int) -> str:
    total = format_short_count(items)
    return total if completed >= items else f"{format_short_count(completed)}/{total}"
