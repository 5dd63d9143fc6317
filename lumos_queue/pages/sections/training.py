"""The section on training jobs: the loss over optimizer steps, the rewards of a policy, and the models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from db.kinds.job_kinds import JobKind
from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.pages.limits import PageLimits
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.sections.fit_curve import draw_fit_curve, title_curve
from lumos_queue.reports.training import FitFigures, TrainingPart
from lumos_queue.util.wording import format_bytes, format_rate, format_seconds


def fits_and_models(material: Material, limits: PageLimits) -> Iterator[Block]:
    room = limits.points
    for number, job in enumerate(job for job in material.jobs if job.row.kind == JobKind.TRAIN):
        if (training := job.report.training) is None:
            continue
        if training.fits or training.feedback_steps:  # without these, the overview has the parts
            yield from tabulate_windows(job, training.windows)
        curves = [
            draw_fit_curve(f"{curve.quantity}-{number}-{index}", title_curve(curve, job.label), curve)
            for index, curve in enumerate(training.list_curves())
        ]
        for index, curve in enumerate(curves):
            room -= len(curve.table.rows)
            if room < 0:
                yield Text(f"{len(curves) - index:,} further curves of {job.label} are left out.")
                break
            yield curve
        if models := training.models:
            rows = [[model.name, model.kind, format_bytes(model.bytes), model.digest, model.path] for model in models]
            heads = ["model", "kind", "size", "digest", "folder"]
            yield Table(f"Models that {job.label} wrote", heads, rows[: limits.rows], texts=frozenset({0, 1, 3, 4}))


def tabulate_fits(job: JobMaterial, fits: Sequence[FitFigures]) -> Table:
    """Return a table of a training job's fits: steps, tokens and losses."""
    heads = ["fit", "steps", "tokens", "first loss", "last loss", "dev loss", "peak memory"]
    return Table(f"Fits of {job.label}", heads, [_fit(fit) for fit in fits])


def tabulate_windows(job: JobMaterial, windows: Sequence[TrainingPart]) -> Iterator[Table]:
    """Yield a table of the parts in which a job trained, if they have a loss: what each has cost, and its losses."""
    rows = [
        [
            window.fit or "the only one",
            f"{window.step:,}",
            *("" if loss is None else f"{loss:.4f}" for loss in (window.loss, window.dev_loss)),
            f"{window.tokens:,}",
            format_rate(window.tokens_per_second),
            format_seconds(window.seconds),
        ]
        for window in windows
        if window.loss is not None and window.reward is None
    ]
    if rows:
        heads = ["fit", "steps done", "loss", "dev loss", "tokens", "tokens/s", "time"]
        yield Table(f"Parts of {job.label}", heads, rows, folded=True, ranks=(0, 0, 0, 1, 4, 3, 2))


def _fit(fit: FitFigures) -> list[str]:
    cells = ["" if loss is None else f"{loss:.4f}" for loss in (fit.first_loss, fit.last_loss, fit.dev_loss)]
    memory = format_bytes(fit.memory) if fit.memory else ""
    return [fit.fit or "the only one", f"{fit.steps:,}", f"{fit.tokens:,}", *cells, memory]
