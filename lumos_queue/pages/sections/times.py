"""The sections on time: by phase, within a model call, and the throughput over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.charts.lines import Point, draw_curve
from lumos_queue.pages.limits import PageLimits
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.reports.episode_figures import CallSeconds
from lumos_queue.util.wording import format_rate, format_seconds, format_share, format_time, plain

#: Names of the parts of a call's time, in the order of `_parts_of_call`.
CALL = ("waited in the worker", "queued at the server", "answered", "lost in failed tries")


def times(material: Material) -> Iterator[Block]:
    """Yield a figure of the time by phase, and a figure of where the time of a mean model call goes."""
    figures = [(job, job.report.episodes) for job in material.jobs if job.report.episodes]
    if phases := [(job, episodes.phases) for job, episodes in figures if sum(episodes.phases.values()) > 0]:
        yield Text("Seconds are added up over episodes, many of which run at the same time.")
        yield _phases(phases)
    if calls := [(job, role, seconds) for job, episodes in figures for role, seconds in episodes.latency.items()]:
        yield _calls(calls, several=len(material.jobs) > 1)


def _phases(jobs: Sequence[tuple[JobMaterial, Mapping[str, float]]]) -> Figure:
    names = sorted({name for _, phases in jobs for name in phases})
    colours = {name: f"c{index % 8}" for index, name in enumerate(names)}
    bars, rows = [], []
    for job, phases in jobs:
        total = sum(phases.values())
        texts = {
            name: f"{format_seconds(seconds)} ({format_share(seconds / total)})" for name, seconds in phases.items()
        }
        parts = [BarPart(name, phases[name] / total, texts[name], colours[name]) for name in names if name in phases]
        bars.append(Bar(job.label, parts, format_seconds(total)))
        rows.append([job.label, *(texts.get(name, "") for name in names), format_seconds(total)])
    title = "Time by phase"
    svg = draw_bars("phases", title, bars, axis_end=1.0, ticks=("0 %", "25 %", "50 %", "75 %", "100 %"))
    return Figure(svg, Table(title, ["job", *names, "all"], rows), [(f"bar {colours[name]}", name) for name in names])


def _calls(calls: Sequence[tuple[JobMaterial, str, CallSeconds]], several: bool) -> Figure:
    bars, rows = [], []
    for job, role, latency in calls:
        seconds = _parts_of_call(latency)
        texts = {name: format_seconds(seconds[name]) for name in seconds}
        parts = [BarPart(name, seconds[name], texts[name], f"c{index}") for index, name in enumerate(CALL)]
        total = sum(seconds.values())
        bars.append(Bar(f"{plain(role)}, {job.label}" if several else plain(role), parts, format_seconds(total)))
        rows.append([job.label, plain(role), *(texts[name] for name in CALL), format_seconds(total)])
    title = "Where the time of a mean model call goes"
    heads = ["job", "role", *CALL, "all"]
    legend = [(f"bar c{index}", name) for index, name in enumerate(CALL)]
    return Figure(draw_bars("calls", title, bars), Table(title, heads, rows, texts=frozenset({0, 1})), legend)


def _parts_of_call(latency: CallSeconds) -> dict[str, float]:
    """Return the seconds of each part of a mean call. The measured seconds include the time in the server's queue."""
    queue_seconds = min(latency.queued, latency.seconds)
    values = (latency.waited, queue_seconds, latency.seconds - queue_seconds, latency.lost)
    return {name: max(value, 0.0) for name, value in zip(CALL, values, strict=True)}


def rates(material: Material, limits: PageLimits) -> Iterator[Block]:
    """Yield the throughput of jobs as a table, and as curves over time until the limit of points is reached."""
    jobs = [job for job in material.jobs if job.curve is not None and job.report.episodes]
    if not jobs:
        return
    rows = []
    for job in jobs:
        assert job.curve is not None and job.report.episodes is not None
        seconds, use = job.report.seconds or 0.0, job.report.episodes.use
        episodes = sum(count for count, _ in job.curve.counts)
        cells = [
            format_rate(count / seconds) if seconds > 0 else "" for count in (episodes, use.calls, use.tokens.total)
        ]
        rows.append([job.label, format_seconds(seconds), f"{episodes:,}", *cells])
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
    for index, (episodes, tokens) in enumerate(curve.counts):
        begins = f"+{format_seconds(index * curve.width)}"
        rate = episodes / curve.width
        points.append(Point(index, rate, begins, f"{format_rate(rate)} episodes/s"))
        rows.append([begins, f"{episodes:,}", format_rate(rate), format_rate(tokens / curve.width)])
    title = f"Episodes per second over time: {job.label}"
    times = f"{len(rows)} equal times of {format_seconds(curve.width)}"
    note = f"From {format_time(curve.start)}, in {times}, by when episodes finished."
    heads = ["from", "episodes finished", "episodes/s", "tokens/s of these"]
    return Figure(draw_curve(key, title, points, "episodes/s"), Table(title, heads, rows, note, folded=True))
