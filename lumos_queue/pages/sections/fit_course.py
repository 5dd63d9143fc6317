"""Sentences on the course of a fit: estimated memory, restarts, windows without steps, and the exported weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lumos_queue.live.fit_progress import describe_restarts
from lumos_queue.pages.blocks import Text
from lumos_queue.reports.training import TrainingFigures, TrainingPart
from lumos_queue.util.wording import format_bytes, plural

PARTS = ("weights", "gradients", "optimizer", "activations")  #: of an estimate, in bytes; the rest are others


def describe_course(training: TrainingFigures) -> Iterator[Text]:
    """Yield what a training job has recorded of the course of its fits; nothing for jobs of earlier versions."""
    for window in training.windows:
        if window.estimate and "total" in window.estimate:
            yield Text(_describe_estimate(window.estimate))
    for fit in dict.fromkeys(restart.fit for restart in training.restarts or ()):
        restarts = [restart for restart in training.restarts or () if restart.fit == fit]
        steps = ", ".join(f"{restart.step:,}" for restart in restarts)
        repeated_steps = [restart.lost_steps for restart in restarts]
        yield Text(f"{_prefix(fit)}{describe_restarts(repeated_steps)} (after step {steps})")
    for fit in dict.fromkeys(window.fit for window in training.windows if window.stopped_early):
        yield _describe_early_stop(fit, [window for window in training.windows if window.fit == fit])
    for window in training.windows:
        if window.kept:
            yield Text(_describe_export(window.kept, window.fit))


def _prefix(fit: str) -> str:
    return f"{fit}: " if fit else ""


def _describe_estimate(estimate: Mapping[str, Any]) -> str:
    sizes = {name: estimate[name] for name in PARTS if estimate.get(name)}
    sizes["others"] = estimate["total"] - sum(sizes.values())
    parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in sizes.items() if size > 0)
    text = f"estimated memory: {format_bytes(estimate['total'])} ({parts})"
    if estimate.get("micro_batch") and estimate.get("length"):
        conversations = plural(estimate["micro_batch"], "conversation")
        text += f", with {conversations} of {estimate['length']:,} tokens in a forward pass"
    return text


def _describe_early_stop(fit: str, windows: Sequence[TrainingPart]) -> Text:
    """Describe the windows of a fit, of which some have no steps because the development loss fell no more."""
    with_steps = [window for window in windows if window.loss is not None and not window.stopped_early]
    last = max((window.step for window in with_steps), default=0)
    missing = sum(window.stopped_early for window in windows)
    were = "window was" if missing == 1 else "windows were"
    total = len(with_steps) + missing
    return Text(f"{_prefix(fit)}stopped early after step {last:,}: {missing:,} of {total:,} {were} not needed")


def _describe_export(kept: Mapping[str, Any], fit: str) -> str:
    which = "the best step" if kept["keep"] == "best" else "the last step"
    loss = kept.get("dev_loss")
    loss_text = "" if loss is None else f", development loss {loss:.4f}"
    return f"{_prefix(fit)}exported weights: {which}, {kept['step']:,}{loss_text}"
