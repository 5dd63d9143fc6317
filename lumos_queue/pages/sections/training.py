"""What training jobs did: the loss over optimizer steps, the rewards that a policy learnt from, the models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.lines import Point, draw_curve
from lumos_queue.pages.limits import PageLimits
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.wording import plain

MAX_POINTS = 60  #: of a curve; each is the mean of as many steps


def fits_and_models(material: Material, limits: PageLimits) -> Iterator[Block]:
    room = limits.points
    for number, job in enumerate(job for job in material.jobs if job.row.kind == "train"):
        if fits := job.report.get("fits"):
            heads = ["fit", "steps", "tokens", "first loss", "last loss", "dev loss", "peak memory, MB"]
            yield Table(f"Fits of {job.label}", heads, [_fit(one) for one in fits])
        curves = [*_curves(job, "training_steps", "loss", number), *_curves(job, "feedback_steps", "reward", number)]
        for place, curve in enumerate(curves):
            room -= len(curve.table.rows)
            if room < 0:
                yield Text(f"{len(curves) - place:,} further curves of {job.label} are left out.")
                break
            yield curve
        if models := job.report.get("models"):
            rows = [[one["name"], one["kind"], f"{one['bytes']:,}", one["digest"], one["path"]] for one in models]
            heads = ["model", "kind", "bytes", "digest", "folder"]
            yield Table(f"Models that {job.label} wrote", heads, rows[: limits.rows], texts=frozenset({0, 1, 3, 4}))


def _fit(found: Mapping[str, Any]) -> list[str]:
    losses = (found.get(name) for name in ("first_loss", "last_loss", "dev_loss"))
    told = ["" if loss is None else f"{loss:.4f}" for loss in losses]
    memory = found.get("memory") or 0
    return [
        found["fit"] or "the only one",
        f"{found['steps']:,}",
        f"{found['tokens']:,}",
        *told,
        f"{memory / 1e6:,.0f}",
    ]


def _curves(job: JobMaterial, steps: str, name: str, number: int) -> Iterator[Figure]:
    """A curve of each fit."""
    by_fit: dict[str, list[Mapping[str, Any]]] = {}
    for one in job.report.get(steps, ()):
        by_fit.setdefault(one["fit"], []).append(one)
    for place, (fit, found) in enumerate(by_fit.items()):
        title = f"{plain(name).capitalize()} over optimizer steps: {job.label}{f', {fit}' if fit else ''}"
        points = [_mean(part, name) for part in _parts(found)]
        rows = [[point.told_x, point.told_y] for point in points]
        note = "" if len(found) <= MAX_POINTS else f"Each is the mean of some {len(found) // len(points)} steps."
        unit = "nats per token" if name == "loss" else name
        svg = draw_curve(f"{name}-{number}-{place}", title, points, unit)
        yield Figure(svg, Table(title, ["steps", name], rows, note, folded=True))


def _parts(found: Sequence[Mapping[str, Any]]) -> Iterator[Sequence[Mapping[str, Any]]]:
    size = -(-len(found) // MAX_POINTS)
    for start in range(0, len(found), size):
        yield found[start : start + size]


def _mean(part: Sequence[Mapping[str, Any]], name: str) -> Point:
    """A loss that was infinite is stored as None, and makes the point infinite: it is told, and not drawn."""
    values = [float("inf") if one[name] is None else float(one[name]) for one in part]
    first, last = part[0]["step"], part[-1]["step"]
    mean = sum(values) / len(values)
    return Point(last, mean, f"step {first}" if first == last else f"steps {first} to {last}", f"{mean:.4f}")
