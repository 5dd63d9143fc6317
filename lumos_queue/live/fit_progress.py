"""Describe what training processes have reported of their fits: the latest step, the phase, checkpoints, restarts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from db.queries.training_progress import StoredProgress
from lumos_queue.records import FitProgress
from lumos_queue.reports.json_values import as_json
from lumos_queue.util.wording import (
    format_bytes,
    format_elapsed,
    format_fit_figure,
    format_rate,
    format_rough_seconds,
    format_step,
    plural,
)

LATE_SECONDS = 60.0  #: age of a running fit's newest report from which the age is shown


def select_current(fits: Sequence[StoredProgress]) -> list[StoredProgress]:
    """Return the fits on which a worker works now; if there is none, the fit of the newest report."""
    running = [fit for fit in fits if fit.is_running]
    return running or sorted(fits, key=lambda fit: fit.age_seconds)[:1]


def find_only_fit(fits: Sequence[StoredProgress]) -> FitProgress | None:
    """Return the progress of the fit to which all items of its job belong, if its number of steps is known."""
    return next((fit.progress for fit in fits if not fit.progress.fit and fit.progress.steps), None)


def describe_step(fit: StoredProgress) -> str:
    """Return the latest step, as in `step 137 of 1,600 (8.6 %), 14 min left`; '' before the first step."""
    progress = fit.progress
    if not progress.step:
        return ""
    remaining = "" if fit.seconds_left is None else f", {format_rough_seconds(fit.seconds_left)} left"
    return format_step(progress.step, progress.steps) + remaining


def list_figures(progress: FitProgress) -> list[tuple[str, str]]:
    """Return the names and texts of the figures of the latest step. Memory is estimated before the first step."""
    values = [
        ("loss", progress.loss),
        ("rate", progress.rate),
        ("gradient", progress.grad_norm),
        ("reward", progress.reward),
        ("KL", progress.kl),
        ("entropy", progress.entropy),
    ]
    figures = [(name, format_fit_figure(figure)) for name, figure in values if figure is not None]
    if progress.tokens_per_second is not None:
        figures.append(("speed", f"{format_rate(progress.tokens_per_second)} tokens/s"))
    if progress.memory is not None:
        figures.append(("memory", format_bytes(progress.memory)))
    elif progress.memory_estimate is not None:
        figures.append(("estimated memory", format_bytes(progress.memory_estimate)))
    return figures


def describe_phase(fit: StoredProgress) -> str:
    """Return the phase with its time and host, as in `loading for 12 s on gpu-1`; or the age of the last report."""
    host = f" on {fit.host}" if fit.host else ""
    age = format_rough_seconds(fit.age_seconds)
    if not fit.is_running:
        return f"last report {age} ago{host}: {fit.progress.phase}"
    late = f", last report {age} ago" if fit.age_seconds >= LATE_SECONDS else ""
    return f"{fit.progress.phase} for {format_elapsed(fit.phase_seconds)}{host}{late}"


def describe_checkpoint(progress: FitProgress) -> str:
    """Return the newest checkpoint and the interval between checkpoints; '' if both are unknown."""
    seconds = progress.checkpoint_seconds
    interval = "" if seconds is None else f"every {format_elapsed(seconds)}"
    if not progress.checkpoint_step:
        return f"a checkpoint {interval}" if interval else ""
    return f"checkpoint at step {progress.checkpoint_step:,}" + (f", {interval}" if interval else "")


def describe_dev_loss(progress: FitProgress) -> str:
    """Return the best development loss with its step, and the newest if it is another; '' without one."""
    newest = None if progress.dev_loss is None else format_fit_figure(progress.dev_loss)
    if progress.best_step is None or progress.best_dev_loss is None:
        return "" if newest is None else f"development loss {newest}"
    best = format_fit_figure(progress.best_dev_loss)
    text = f"best development loss {best} at step {progress.best_step:,}"
    return text if newest in (None, best) else f"{text}, newest {newest}"


def describe_restarts(lost_steps: Sequence[int]) -> str:
    """Return how often a fit was continued, and how many steps were repeated; '' if it was not.

    `lost_steps`: for each restart, the number of steps that it repeated.
    """
    if not lost_steps:
        return ""
    total = sum(lost_steps)
    was = "was" if total == 1 else "were"
    steps = f"{plural(total, 'step')} {was} repeated" if total else "no step was repeated"
    return f"continued {plural(len(lost_steps), 'time')}: {steps}"


def describe_fit(fit: StoredProgress, has_state: bool = True) -> list[str]:
    """Return the lines about a fit in a job's block: its step, and with `has_state` its phase and its restarts."""
    name, state = fit.progress.fit, describe_state(fit) if has_state else []
    return [f"{name}: {line}" if name else line for line in (describe_figures(fit), *state) if line]


def describe_state(fit: StoredProgress) -> list[str]:
    """Return a line about the phase, checkpoints and development loss, and a line about restarts if there are any."""
    progress = fit.progress
    state = filter(None, [describe_phase(fit), describe_checkpoint(progress), describe_dev_loss(progress)])
    restarts = describe_restarts([restart.lost_steps for restart in fit.restarts])
    return ["; ".join(state), *([restarts] if restarts else [])]


def describe_figures(fit: StoredProgress) -> str:
    """Return the latest step of a fit with its figures as a line; '' if nothing is known yet."""
    figures = list_figures(fit.progress)
    texts = [text if name in ("speed", "memory") else f"{name} {text}" for name, text in figures]
    return "  ".join(filter(None, [describe_step(fit), *texts]))


def describe_shortly(fit: StoredProgress) -> str:
    """Return a fit's step and loss, or its phase before the first step, for a line about the job."""
    progress = fit.progress
    figures = [f"{name} {text}" for name, text in list_figures(progress) if name in ("loss", "reward")]
    text = "  ".join([describe_step(fit), *figures]) if progress.step else describe_phase(fit)
    return f"{progress.fit}: {text}" if progress.fit else text


def fit_values(fit: StoredProgress) -> dict[str, Any]:
    """Return what is known of a fit as JSON: the fields of FitProgress, and those of StoredProgress but the points."""
    restarts = [{"step": restart.step, "lost_steps": restart.lost_steps, "at": restart.at} for restart in fit.restarts]
    return as_json(fit.progress) | {
        "phase_seconds": round(fit.phase_seconds, 1),
        "age_seconds": round(fit.age_seconds, 1),
        "running": fit.is_running,
        "host": fit.host,
        "accepted_step": fit.accepted_step,
        "restarts": restarts,
    }
