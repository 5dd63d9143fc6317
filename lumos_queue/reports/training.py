"""Collect the figures of a training job's report about optimizer steps and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from db.engine.connection import Connection
from db.queue.training_steps import list_feedback, list_models, list_steps, summarize_fits


def collect_training_figures(connection: Connection, job: str, windows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `fits` (summaries, with the latest `dev_loss`), `training_steps`, `feedback_steps` and `models`, if any.

    `windows` are the outputs of the job's items, in order.
    """
    figures: dict[str, Any] = {}
    if fits := summarize_fits(connection, job):
        latest = {window.get("fit", ""): window["dev_loss"] for window in windows if "dev_loss" in window}
        figures["fits"] = [fit | ({"dev_loss": latest[fit["fit"]]} if fit["fit"] in latest else {}) for fit in fits]
        figures["training_steps"] = list_steps(connection, job)
    if feedback := list_feedback(connection, job):
        figures["feedback_steps"] = feedback
    names = ("name", "kind", "digest", "bytes", "base", "builds", "path")
    if models := [row for row in list_models(connection) if row.job == job]:
        figures["models"] = [{name: getattr(row, name) for name in names} for row in models]
    return figures
