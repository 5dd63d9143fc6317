"""Send the optimizer steps of a training job to the experiment trackers that its request names."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from db.engine.connection import Database
from db.queries.jobs import get_job_of_item
from db.queue.training_steps import list_feedback, list_steps
from lumos_queue.jobs.progress_board import read_progress
from lumos_queue.training.trackers.feed import TrackerFeed
from lumos_queue.training.trackers.messages import TrackedStep, flatten
from lumos_queue.util.launch_folder import from_launch

#: Figures of a step that trackers get, if they are known.
_FIGURES = ("loss", "rate", "grad_norm", "memory", "tokens_per_second", "reward", "kl", "entropy")
CLOSE_SECONDS = 4.0  #: for the trackers to log the last steps when a slice ends


class JobTrackers:
    """The trackers of the job at work in a slice. They get accepted steps from the database, and reported steps."""

    def __init__(self, database: Database, names: tuple[str, ...], folder: str, start_folder: Path):
        """`names`: of the trackers. `folder`: of the fit. `start_folder`: for their processes."""
        self._database, self._names = database, names
        self._folder, self._start_folder = from_launch(folder).absolute(), start_folder
        self._feed: TrackerFeed | None = None
        self._sent: dict[str, int] = {}  # by fit: the newest step
        self._dev_losses: dict[str, float | None] = {}

    async def begin(self, item: int) -> None:
        """Send the accepted steps of the item's job that the trackers have not got yet."""
        await asyncio.to_thread(self._send_accepted, item)

    def note(self, report: Mapping[str, Any]) -> None:
        """Send the step of a report of the training process, if it has one."""
        if self._feed is None or "tokens" not in report:
            return
        progress = read_progress(report)
        figures = {name: value for name in _FIGURES if (value := getattr(progress, name)) is not None}
        fit, dev_loss = progress.fit, progress.dev_loss
        if dev_loss is not None and dev_loss != self._dev_losses.get(fit):
            figures["dev_loss"] = self._dev_losses[fit] = dev_loss
        self._send([TrackedStep(fit, progress.step, figures | {"tokens": float(report["tokens"])})])

    async def close(self) -> None:
        """Let the trackers log the last steps, for a limited time."""
        if self._feed is not None:
            await asyncio.to_thread(self._feed.close, CLOSE_SECONDS)

    def _send_accepted(self, item: int) -> None:
        with self._database.engine.connect() as connection:
            job = get_job_of_item(connection, item)
            steps = list_steps(connection, job.id)
            rewards = {(row["fit"], row["step"]): row for row in list_feedback(connection, job.id)}
        if self._feed is None:
            config = flatten(job.spec)
            self._feed = TrackerFeed(self._names, job.id, job.digest, config, self._folder, self._start_folder)
        accepted = []
        for row in steps:
            figures = row | {name: rewards.get((row["fit"], row["step"]), {}).get(name) for name in _FIGURES[-3:]}
            names = (*_FIGURES, "tokens")
            known = {name: float(figures[name]) for name in names if figures.get(name) is not None}
            accepted.append(TrackedStep(row["fit"], row["step"], known))
        self._send(accepted)

    def _send(self, steps: list[TrackedStep]) -> None:
        """Send the steps that follow those that were sent before."""
        assert self._feed is not None, "it is made by `begin`"
        new_steps = [step for step in steps if step.step > self._sent.get(step.fit, 0)]
        self._sent |= {step.fit: step.step for step in new_steps}
        self._feed.send(new_steps)
