"""The section on endings of episodes and on failed actions; failures of infrastructure have a separate table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from db.kinds.job_kinds import JobKind
from db.kinds.states import ItemState
from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.limits import PageLimits, truncate
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.records import Ending
from lumos_queue.util.wording import format_count, plain, plural

INFRASTRUCTURE = Ending.INFRA_ERROR
#: Endings that the agent caused, in the order of their colours; other stored endings come last.
_ENDINGS = (
    Ending.NO_ANSWER,
    Ending.LIMIT,
    Ending.GAVE_UP,
    Ending.ACTION_ERROR,
    Ending.UNREADABLE,
    Ending.INFEASIBLE,
    Ending.CANCELLED,
)
HOW = (
    "Every item of a job is in one class. An episode that infrastructure ended (a server, a network, a process) has no "
    "answer, and does not count as wrong."
)


def endings(material: Material, limits: PageLimits) -> Iterator[Block]:
    jobs = [job for job in material.jobs if job.row.kind != JobKind.TRAIN]
    if not jobs:
        return
    yield Text(HOW)
    yield _chart(jobs)
    yield from _errors(jobs, limits)


def classes(job: JobMaterial) -> dict[str, int]:
    """Return the number of a job's items in each class, such as right, wrong, an ending, and not finished."""
    right, wrong = _names(job)
    counts: dict[str, int] = {}
    for ending, is_right, episodes in job.outcomes:
        if ending == INFRASTRUCTURE:
            name = "infrastructure failed"
        elif is_right:
            name = right
        elif ending == Ending.ANSWERED:
            name = wrong if is_right is False else "answered, not judged" if job.metric else "answered"
        else:
            name = plain(ending)
        counts[name] = counts.get(name, 0) + episodes
    states = {state: count for state, count in job.report.items.items() if state != ItemState.DONE}
    for state, count in sorted(states.items()):
        name = "quarantined" if state == ItemState.QUARANTINED else "not finished"
        counts[name] = counts.get(name, 0) + count
    return {name: count for name, count in counts.items() if count}


def _names(job: JobMaterial) -> tuple[str, str]:
    """Return the names of two classes: episodes with a good score, and answered episodes with a bad score."""
    if job.row.kind == JobKind.CONVERT:
        return "accepted", "not accepted"
    scores = job.report.scores
    if scores is not None and scores.correct is not None:
        return "right", "answered wrong"
    return "score from 0.5", "answered, score below 0.5"


_COLOURS = {
    "right": "right",
    "accepted": "right",
    "score from 0.5": "right",
    "answered": "c6",
    "answered wrong": "wrong",
    "not accepted": "wrong",
    "answered, score below 0.5": "wrong",
    "answered, not judged": "c6",
    "infrastructure failed": "infra",
    "quarantined": "infra",
    "not finished": "open",
} | {plain(name): f"c{index}" for index, name in enumerate(_ENDINGS)}


def _chart(jobs: Sequence[JobMaterial]) -> Figure:
    counts_by_job = {job.id: classes(job) for job in jobs}
    present_names = {name for counts in counts_by_job.values() for name in counts}
    names = [name for name in _ORDER if name in present_names] + sorted(present_names - set(_ORDER))
    bars, rows = [], []
    for job in jobs:
        counts, n = counts_by_job[job.id], job.report.n
        texts = {name: format_count(count, n) for name, count in counts.items()}
        parts = [BarPart(name, counts[name], texts[name], _COLOURS.get(name, "c7")) for name in names if name in counts]
        scaled_parts = [BarPart(part.name, part.value / n, part.amount, part.colour) for part in parts] if n else []
        bars.append(Bar(job.label, scaled_parts, f"{n:,} items"))
        rows.append([job.label, f"{n:,}", *(texts.get(name, "0") for name in names)])
    title = "Items by outcome"
    svg = draw_bars("endings", title, bars, axis_end=1.0, ticks=("0 %", "25 %", "50 %", "75 %", "100 %"))
    legend = [(f"bar {_COLOURS.get(name, 'c7')}", name) for name in names]
    return Figure(svg, Table(title, ["job", "items", *names], rows), legend)


_ORDER = (
    "right",
    "accepted",
    "score from 0.5",
    "answered",
    "answered wrong",
    "not accepted",
    "answered, score below 0.5",
    "answered, not judged",
    *map(plain, _ENDINGS),
    "infrastructure failed",
    "quarantined",
    "not finished",
)


def _errors(jobs: Sequence[JobMaterial], limits: PageLimits) -> Iterator[Block]:
    max_rows = max(3, limits.rows // (4 * len(jobs)))
    failures = [(job, *error) for job in jobs for error in job.errors[:max_rows]]
    if failures:
        title = "Actions that failed, by kind of error"
        bars, rows = [], []
        for job, status, action, count, episodes in failures:
            label = f"{action or 'no action read'}: {plain(status)}" + (f" ({job.id})" if len(jobs) > 1 else "")
            amount = f"{count:,} in {plural(episodes, 'episode')}"
            bars.append(Bar(label, [BarPart("failed", count, f"{count:,}", "wrong")], amount))
            rows.append([job.label, plain(status), action or "no action read", f"{count:,}", f"{episodes:,}"])
        heads = ["job", "kind of error", "action", "failed actions", "episodes"]
        note = "An action that fails need not end an episode: the amounts are failed actions in so many episodes."
        yield Figure(draw_bars("errors", title, bars), Table(title, heads, rows, note, frozenset({0, 1, 2})))
    agent_rows, infra_rows = [], []
    for job in jobs:
        for problem in job.report.episodes.problems[:max_rows] if job.report.episodes else ():
            row = [
                job.label,
                plain(problem.ending or "any"),
                truncate(problem.message, limits.text // 4),
                f"{problem.episodes:,}",
            ]
            (infra_rows if problem.ending == INFRASTRUCTURE else agent_rows).append(row)
        infra_rows += [
            [job.label, "will be retried", truncate(reason, limits.text // 4), f"{items:,}"]
            for reason, items in job.retried[:max_rows]
        ]
    texts = frozenset({0, 1, 2})
    if agent_rows:
        yield Table(
            "Why episodes ended without an answer", ["job", "ended", "message", "episodes"], agent_rows, texts=texts
        )
    if infra_rows:
        note = "Not counted as wrong answers."
        yield Table("Infrastructure failures", ["job", "ended", "message", "items"], infra_rows, note, texts)
