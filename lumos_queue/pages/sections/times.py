"""Where the time went: by phase, within a model call, and how many episodes finished when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.charts.lines import Point, draw_curve
from lumos_queue.pages.limits import PageLimits
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.wording import plain, tell_rate, tell_seconds, tell_share, tell_time

#: Seconds of a call by where they go, as `_parts_of_call` names them.
CALL = ("waited in the worker", "queued at the server", "answered", "lost in failed tries")


def times(material: Material) -> Iterator[Block]:
    """Time by phase, and of a mean call."""
    if jobs := [job for job in material.jobs if sum(job.report.get("phases", {}).values()) > 0]:
        yield Text("Seconds are added up over episodes, many of which run at the same time.")
        yield _phases(jobs)
    if calls := [(job, role, found) for job in material.jobs for role, found in job.report.get("latency", {}).items()]:
        yield _calls(calls, several=len(material.jobs) > 1)


def _phases(jobs: Sequence[JobMaterial]) -> Figure:
    names = sorted({name for job in jobs for name in job.report["phases"]})
    colours = {name: f"c{place % 8}" for place, name in enumerate(names)}
    bars, rows = [], []
    for job in jobs:
        phases = job.report["phases"]
        total = sum(phases.values())
        told = {name: f"{tell_seconds(spent)} ({tell_share(spent / total)})" for name, spent in phases.items()}
        parts = [BarPart(name, phases[name] / total, told[name], colours[name]) for name in names if name in phases]
        bars.append(Bar(job.label, parts, tell_seconds(total)))
        rows.append([job.label, *(told.get(name, "") for name in names), tell_seconds(total)])
    title = "Time by phase"
    svg = draw_bars("phases", title, bars, most=1.0, ticks=("0 %", "25 %", "50 %", "75 %", "100 %"))
    return Figure(svg, Table(title, ["job", *names, "all"], rows), [(f"bar {colours[name]}", name) for name in names])


def _calls(calls: Sequence[tuple[JobMaterial, str, dict[str, float]]], several: bool) -> Figure:
    bars, rows = [], []
    for job, role, found in calls:
        spent = _parts_of_call(found)
        told = {name: tell_seconds(spent[name]) for name in spent}
        parts = [BarPart(name, spent[name], told[name], f"c{place}") for place, name in enumerate(CALL)]
        total = sum(spent.values())
        bars.append(Bar(f"{plain(role)}, {job.label}" if several else plain(role), parts, tell_seconds(total)))
        rows.append([job.label, plain(role), *(told[name] for name in CALL), tell_seconds(total)])
    title = "Where the time of a mean model call goes"
    heads = ["job", "role", *CALL, "all"]
    legend = [(f"bar c{place}", name) for place, name in enumerate(CALL)]
    return Figure(draw_bars("calls", title, bars), Table(title, heads, rows, texts=frozenset({0, 1})), legend)


def _parts_of_call(found: dict[str, float]) -> dict[str, float]:
    """Seconds by phase; those in the server's queue are part of those that an answer took."""
    queued = min(found["queued"], found["seconds"])
    values = (found["waited"], queued, found["seconds"] - queued, found["lost"])
    return {name: max(value, 0.0) for name, value in zip(CALL, values, strict=True)}


def rates(material: Material, limits: PageLimits) -> Iterator[Block]:
    """Throughput of each job: as a table, and over time for as many jobs as the page has room for."""
    jobs = [job for job in material.jobs if job.curve is not None]
    if not jobs:
        return
    rows = []
    for job in jobs:
        seconds, tokens = job.report["seconds"] or 0.0, job.report["tokens"]
        assert job.curve is not None
        used, finished = tokens["prompt"] + tokens["completion"], sum(count for count, _ in job.curve.counts)
        told = [tell_rate(count / seconds) if seconds > 0 else "" for count in (finished, job.report["calls"], used)]
        rows.append([job.label, tell_seconds(seconds), f"{finished:,}", *told])
    heads = ["job", "time", "episodes", "episodes/s", "model calls/s", "tokens/s"]
    note = "From the start of the first slice to the end of the job, pauses included."
    yield Table("Rates of whole jobs", heads, rows, note)
    room = limits.points
    for number, job in enumerate(jobs):
        assert job.curve is not None
        room -= len(job.curve.counts)
        if room < 0:
            yield Text(f"The curves of {len(jobs) - number:,} further jobs are left out.")
            return
        yield _curve(f"rate-{number}", job)


def _curve(key: str, job: JobMaterial) -> Figure:
    curve = job.curve
    assert curve is not None
    points, rows = [], []
    for place, (episodes, tokens) in enumerate(curve.counts):
        begins = f"+{tell_seconds(place * curve.width)}"
        rate = episodes / curve.width
        points.append(Point(place, rate, begins, f"{tell_rate(rate)} episodes/s"))
        rows.append([begins, f"{episodes:,}", tell_rate(rate), tell_rate(tokens / curve.width)])
    title = f"Episodes per second over time: {job.label}"
    times = f"{len(rows)} equal times of {tell_seconds(curve.width)}"
    note = f"From {tell_time(curve.start)}, in {times}, by when episodes finished."
    heads = ["from", "episodes finished", "episodes/s", "tokens/s of these"]
    return Figure(draw_curve(key, title, points, "episodes/s"), Table(title, heads, rows, note, folded=True))
