"""Send the optimizer steps of a training job to the experiment trackers that its request names.

A process keeps the trackers of a job open between its slices, because their processes take seconds to start.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from db.engine.connection import Database
from db.queries.jobs import get_job_of_item
from db.queue.stored_jobs import StoredJob
from db.queue.training_steps import list_feedback, list_steps
from lumos_queue.jobs.progress_board import read_progress
from lumos_queue.training.trackers.feed import TrackerFeed
from lumos_queue.training.trackers.messages import TrackedStep, flatten
from lumos_queue.util.launch_folder import from_launch

#: Figures of a step that trackers get, if they are known. The last three are of a step that learns from rewards.
_FIGURES = ("loss", "rate", "grad_norm", "memory", "tokens_per_second", "reward", "kl", "entropy")
IDLE_SECONDS = 60.0  #: after a slice, before the trackers of its job are closed
CLOSE_SECONDS = 30.0  #: for the trackers to log the last steps
log = logging.getLogger(__name__)


class JobTrackers:
    """The trackers of the job of a slice. A failure of theirs never reaches the job."""

    def __init__(self, database: Database, names: tuple[str, ...], folder: str, start_folder: Path):
        """`names`: of the trackers. `folder`: of the fit. `start_folder`: for their processes."""
        self._database, self._names = database, names
        self._folder, self._start_folder = from_launch(folder).absolute(), start_folder
        self._feed: _JobFeed | None = None

    async def begin(self, item: int) -> None:
        """Prepare for the steps of an item, and send the accepted steps of its job that the trackers lack."""
        try:
            await asyncio.to_thread(self._begin, item)
        except Exception:
            log.exception("the trackers of item %s do not get its accepted steps", item)

    def note(self, report: Mapping[str, Any]) -> None:
        """Send the step of a report of the training process, if it has one."""
        if self._feed is not None:
            self._feed.note(report)

    def leave(self) -> None:
        """Note the end of the slice. The trackers are closed unless a further slice of the job begins soon."""
        if self._feed is not None:
            self._feed.close_later()

    def _begin(self, item: int) -> None:
        with self._database.engine.connect() as connection:
            job = get_job_of_item(connection, item)
            self._feed = self._feed or _open_feed(job, self._names, self._folder, self._start_folder)
            if not self._feed.lacks_steps:
                return
            steps = list_steps(connection, job.id)
            rewards = {(row["fit"], row["step"]): row for row in list_feedback(connection, job.id)}
        self._feed.send_accepted([_track(row | rewards.get((row["fit"], row["step"]), {})) for row in steps])


class _JobFeed:
    """The trackers of one job in this process."""

    def __init__(self, feed: TrackerFeed):
        self.lacks_steps = True  #: whether there may be accepted steps that the trackers lack
        self._feed = feed
        self._sent: dict[str, int] = {}  # by fit: the newest step
        self._dev_losses: dict[str, float] = {}
        self._timer: threading.Timer | None = None

    def send_accepted(self, steps: Sequence[TrackedStep]) -> None:
        self._send([step for step in steps if step.step > self._sent.get(step.fit, 0)])
        self.lacks_steps = False

    def note(self, report: Mapping[str, Any]) -> None:
        """Send the step of a report. If the step before it is missing, both are sent when they are accepted."""
        if "tokens" not in report:
            return
        progress = read_progress(report)
        newest = self._sent.get(progress.fit, 0)
        if progress.step != newest + 1:
            self.lacks_steps = self.lacks_steps or progress.step > newest
            return
        figures = {name: float(figure) for name in _FIGURES if (figure := getattr(progress, name)) is not None}
        dev_loss = progress.dev_loss
        if dev_loss is not None and dev_loss != self._dev_losses.get(progress.fit):
            figures["dev_loss"] = self._dev_losses[progress.fit] = dev_loss
        self._send([TrackedStep(progress.fit, progress.step, figures | {"tokens": float(report["tokens"])})])

    def keep_open(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def close_later(self) -> None:
        self.keep_open()
        self._timer = threading.Timer(IDLE_SECONDS, self._close)
        self._timer.daemon = True
        self._timer.start()

    def _close(self) -> None:
        for key, feed in list(_feeds.items()):
            if feed is self:
                del _feeds[key]
        self._feed.close(CLOSE_SECONDS)

    def _send(self, steps: Sequence[TrackedStep]) -> None:
        self._sent |= {step.fit: step.step for step in steps}
        self._feed.send(steps)


_feeds: dict[tuple[int, str], _JobFeed] = {}  # by process and job: a forked process must not use its parent's


def _open_feed(job: StoredJob, names: Sequence[str], folder: Path, start_folder: Path) -> _JobFeed:
    key = os.getpid(), job.id
    if key not in _feeds:
        _feeds[key] = _JobFeed(TrackerFeed(names, job.id, job.digest, flatten(job.spec), folder, start_folder))
    _feeds[key].keep_open()
    return _feeds[key]


def _track(row: Mapping[str, Any]) -> TrackedStep:
    """Return an accepted step as trackers get it."""
    figures = {name: float(row[name]) for name in (*_FIGURES, "tokens") if row.get(name) is not None}
    return TrackedStep(row["fit"], row["step"], figures)
