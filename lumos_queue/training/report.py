"""Return the facts of one window for the report of a training job, and a reason to pause the job after the window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lumos_queue.training.engine.window import FitWindow

#: A development loss is a relapse when it is this many times the best one and this many nats above it.
RELAPSE_FACTOR, RELAPSE_NATS = 3.0, 0.5


def window_report(fit: str, window: FitWindow) -> dict[str, Any]:
    """Return the facts of one window as JSON; `fit` is the name of the fit within the job."""
    tokens = sum(step.tokens for step in window.steps)
    report: dict[str, Any] = {
        "fit": fit,
        "checkpoint": str(window.checkpoint),
        "step": window.steps[-1].step if window.steps else 0,
        "loss": sum(step.loss * step.tokens for step in window.steps) / tokens if tokens else None,
        "tokens": tokens,
        "tokens_per_second": round(tokens / window.seconds, 1) if window.seconds else 0.0,
        "seconds": round(window.seconds, 2),
    }
    if window.dev_loss is not None:
        report["dev_loss"] = round(window.dev_loss, 4)
        report["evaluations"] = [[step, round(loss, 4)] for step, loss in window.dev.evaluations]
    if window.dev.best is not None:
        step, loss = window.dev.best
        report["best"] = {"step": step, "dev_loss": round(loss, 4)}
    if window.is_stopped_early:
        report["stopped_early"] = True
    if window.notes:
        report["notes"] = list(window.notes)
    return report


def pause_reason(window: FitWindow) -> str:
    """Return why the job should pause after this window; '' if it should continue."""
    now, best = window.dev_loss, window.best_dev_loss
    if now is None or best is None or now <= RELAPSE_FACTOR * best or now <= best + RELAPSE_NATS:
        return ""
    return (
        f"The development loss rose from {best:.3f} to {now:.3f}: the rate is too high, or the data are not alike. "
        "Resume to go on all the same."
    )
