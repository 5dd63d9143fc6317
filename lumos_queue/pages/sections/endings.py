"""How episodes ended, and what failed in them; infrastructure failures apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from db.states import ItemState
from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.limits import PageLimits, cut
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.wording import plain, plural, tell_count

INFRASTRUCTURE = "infra_error"
#: Endings of an agent's own making, after answers, and their colours; others of a stored job come last.
_ENDINGS = ("no_answer", "limit", "gave_up", "action_error", "unreadable", "infeasible", "cancelled")
HOW = (
    "Every item of a job is in one class. What infrastructure ended (a server, a network, a process) is no answer, and "
    "not counted as a wrong one."
)


def endings(material: Material, limits: PageLimits) -> Iterator[Block]:
    jobs = [job for job in material.jobs if job.row.kind != "train"]
    if not jobs:
        return
    yield Text(HOW)
    yield _chart(jobs)
    yield from _errors(jobs, limits)


def classes(job: JobMaterial) -> dict[str, int]:
    """Class to number of items, over all items of the job."""
    right, wrong = _names(job)
    found: dict[str, int] = {}
    for ending, judged, episodes in job.outcomes:
        if ending == INFRASTRUCTURE:
            name = "infrastructure failed"
        elif judged:
            name = right
        elif ending == "answered":
            name = wrong if judged is False else "answered, not judged" if job.metric else "answered"
        else:
            name = plain(ending)
        found[name] = found.get(name, 0) + episodes
    states = {state: count for state, count in job.report["items"].items() if state != ItemState.DONE}
    for state, count in sorted(states.items()):
        name = "quarantined" if state == ItemState.QUARANTINED else "not finished"
        found[name] = found.get(name, 0) + count
    return {name: count for name, count in found.items() if count}


def _names(job: JobMaterial) -> tuple[str, str]:
    """What episodes are called that score well, and those that answered and do not."""
    if job.row.kind == "convert":
        return "accepted", "not accepted"
    return ("right", "answered wrong") if "correct" in job.report else ("score from 0.5", "answered, score below 0.5")


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
} | {plain(name): f"c{place}" for place, name in enumerate(_ENDINGS)}


def _chart(jobs: Sequence[JobMaterial]) -> Figure:
    counted = {job.id: classes(job) for job in jobs}
    there = {name for found in counted.values() for name in found}
    names = [name for name in _ORDER if name in there] + sorted(there - set(_ORDER))
    bars, rows = [], []
    for job in jobs:
        found, n = counted[job.id], job.report["n"]
        told = {name: tell_count(count, n) for name, count in found.items()}
        parts = [BarPart(name, found[name], told[name], _COLOURS.get(name, "c7")) for name in names if name in found]
        scaled = [BarPart(part.name, part.value / n, part.amount, part.colour) for part in parts] if n else []
        bars.append(Bar(job.label, scaled, f"{n:,} items"))
        rows.append([job.label, f"{n:,}", *(told.get(name, "0") for name in names)])
    title = "Items by outcome"
    svg = draw_bars("endings", title, bars, most=1.0, ticks=("0 %", "25 %", "50 %", "75 %", "100 %"))
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
    most = max(3, limits.rows // (4 * len(jobs)))
    failed = [(job, *one) for job in jobs for one in job.errors[:most]]
    if failed:
        title = "Actions that failed, by kind of error"
        bars, rows = [], []
        for job, status, action, count, episodes in failed:
            label = f"{action or 'no action read'}: {plain(status)}" + (f" ({job.id})" if len(jobs) > 1 else "")
            told = f"{count:,} in {plural(episodes, 'episode')}"
            bars.append(Bar(label, [BarPart("failed", count, f"{count:,}", "wrong")], told))
            rows.append([job.label, plain(status), action or "no action read", f"{count:,}", f"{episodes:,}"])
        heads = ["job", "kind of error", "action", "failed actions", "episodes"]
        note = "An action that fails need not end an episode: the amounts are failed actions in so many episodes."
        yield Figure(draw_bars("errors", title, bars), Table(title, heads, rows, note, frozenset({0, 1, 2})))
    own, infra = [], []
    for job in jobs:
        for problem in job.report["problems"][:most]:
            row = [
                job.label,
                plain(problem["ending"] or "any"),
                cut(problem["message"], limits.text // 4),
                f"{problem['episodes']:,}",
            ]
            (infra if problem["ending"] == INFRASTRUCTURE else own).append(row)
        infra += [
            [job.label, "owed again", cut(told, limits.text // 4), f"{items:,}"] for told, items in job.owed[:most]
        ]
    texts = frozenset({0, 1, 2})
    if own:
        yield Table("Why episodes ended without an answer", ["job", "ended", "message", "episodes"], own, texts=texts)
    if infra:
        note = "Not counted as wrong answers."
        yield Table("Infrastructure failures", ["job", "ended", "message", "items"], infra, note, texts)
