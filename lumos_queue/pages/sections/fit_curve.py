"""Draw the curve of a fit, with the ends of its windows, its restarts and its development losses."""

from __future__ import annotations

from collections.abc import Iterator

from lumos_queue.pages.blocks import Figure, Table
from lumos_queue.pages.charts.lines import Mark, Point, draw_curve
from lumos_queue.reports.fit_curve import CurvePart, FitCurve
from lumos_queue.util.wording import plain, plural

MAX_WINDOWS = 40  #: whose ends are drawn
WINDOW_END, RESTART, DEV_LOSS, BEST = "end of a window", "continued", "development loss", "lowest development loss"


def draw_fit_curve(key: str, title: str, curve: FitCurve) -> Figure:
    """Return the curve as a figure. `key` is unique in the page."""
    unit = "nats per token" if curve.quantity == "loss" else curve.quantity
    points = [Point(part.last, _value(part), _name_steps(part), f"{_value(part):.4f}") for part in curve.parts]
    dev_points = [
        Point(step, loss, f"{DEV_LOSS} after step {step:,}", f"{loss:.4f}") for step, loss in curve.dev_losses
    ]
    best = curve.best and Point(
        curve.best.step, curve.best.loss, f"{BEST}, after step {curve.best.step:,}", f"{curve.best.loss:.4f}"
    )
    svg = draw_curve(key, title, points, unit, second=dev_points, marks=_list_marks(curve), best=best)
    return Figure(svg, _tabulate(title, curve), list(_list_legend(curve)))


def _draws_windows(curve: FitCurve) -> bool:
    """Whether the ends of windows are drawn: not where they are many, or where each window has one step."""
    steps = curve.parts[-1].last - curve.parts[0].first + 1 if curve.parts else 0
    return 0 < len(curve.window_ends) <= min(MAX_WINDOWS, steps / 2)


def _list_marks(curve: FitCurve) -> list[Mark]:
    first = curve.parts[0].last if curve.parts else 0
    ends = curve.window_ends if _draws_windows(curve) else ()
    marks = [Mark(step, "window-end", f"{WINDOW_END}: step {step:,}") for step in ends]
    return marks + [
        Mark(max(step, first), "restart", f"{RESTART} after step {step:,}") for step in dict.fromkeys(curve.restarts)
    ]


def _list_legend(curve: FitCurve) -> Iterator[tuple[str, str]]:
    """Yield the colours of the chart, if it has more than the curve itself."""
    further = [
        ("c1", f"{DEV_LOSS}, the lowest with a circle" if curve.best else DEV_LOSS) if curve.dev_losses else None,
        ("window-end", WINDOW_END) if _draws_windows(curve) else None,
        ("restart", "continued by another process") if curve.restarts else None,
    ]
    if any(further):
        yield "c0", curve.quantity
        yield from filter(None, further)


def _tabulate(title: str, curve: FitCurve) -> Table:
    heads, texts = ["steps", curve.quantity], {0}
    rows = [[_name_steps(part), f"{_value(part):.4f}"] for part in curve.parts]
    if curve.dev_losses:
        heads.append(DEV_LOSS)
        for row, part in zip(rows, curve.parts, strict=True):
            row.append(", ".join(f"{loss:.4f}" for step, loss in curve.dev_losses if part.first <= step <= part.last))
    events = [", ".join(_list_events(curve, index)) for index in range(len(curve.parts))]
    if any(events):
        texts.add(len(heads))
        heads.append("events")
        for row, event in zip(rows, events, strict=True):
            row.append(event)
    size = curve.part_size
    note = f"Each is the mean of some {plural(size, 'step')}." if size > 1 else ""
    return Table(title, heads, rows, note, frozenset(texts), folded=True)


def _list_events(curve: FitCurve, index: int) -> Iterator[str]:
    """Yield what happened in a part of the curve. A restart before the first part belongs to the first part."""
    part = curve.parts[index]
    steps = range(part.first if index else 0, part.last + 1)
    if _draws_windows(curve) and any(step in steps for step in curve.window_ends):
        yield WINDOW_END
    if any(step in steps for step in curve.restarts):
        yield RESTART
    if curve.best and curve.best.step in steps:
        yield BEST


def _value(part: CurvePart) -> float:
    """Return the mean of a part; infinity for an infinite loss, which is not drawn."""
    return float("inf") if part.value is None else part.value


def _name_steps(part: CurvePart) -> str:
    return f"step {part.first:,}" if part.first == part.last else f"steps {part.first:,} to {part.last:,}"


def title_curve(curve: FitCurve, label: str) -> str:
    """Return the title of a job's curve. `label`: the job's."""
    fit = f", {curve.fit}" if curve.fit else ""
    return f"{plain(curve.quantity).capitalize()} over optimizer steps: {label}{fit}"
