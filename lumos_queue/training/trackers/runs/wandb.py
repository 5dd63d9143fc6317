"""A run of W&B, which is continued by its id: on the server, or offline in the folder `wandb` of the fit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from accelerate.tracking import WandBTracker

from lumos_queue.training.trackers.messages import PROJECT, RunHeader
from lumos_queue.training.trackers.runs.base import Logged
from lumos_queue.training.trackers.runs.wandb_files import read_newest_step

wandb: Any = import_module("wandb")  # type checkers would take this file for the package


class WandbRun:
    """The run of a job. W&B's own process sends what was logged, and tries again while the server does not answer."""

    warning = ""

    def __init__(self, header: RunHeader):
        self._header = header
        self._tracker: WandBTracker | None = None
        self._position = 0
        self._late: dict[str, float] = {}  # figures of a step that is logged: W&B takes no earlier steps

    def open(self) -> Logged:
        if self._tracker is None:
            tracker = WandBTracker(
                os.environ.get("WANDB_PROJECT", PROJECT),
                id=self._header.run,
                name=self._header.run,
                resume="allow",
                config=dict(self._header.config),
                dir=os.environ.get("WANDB_DIR", self._header.folder),
                settings=wandb.Settings(
                    console="off", disable_code=True, disable_git=True, symlink=False, x_disable_stats=True
                ),
            )
            tracker.start()
            self._tracker = tracker
            self._position = self._read_position(tracker.tracker)
        return Logged(self._position)

    def _read_position(self, run: Any) -> int:
        """Return the newest position that the run has."""
        if run.offline:
            folder = Path(run.settings.wandb_dir)
            return max(map(read_newest_step, folder.glob(f"offline-run-*/run-{self._header.run}.wandb")), default=0)
        return run.step - 1 if run.resumed else 0

    def log(self, position: int, figures: Mapping[str, float]) -> None:
        """Log a step. Later figures of a logged step become part of the next one, or of the summary."""
        assert self._tracker
        if position <= self._position:
            self._late.update(figures)
            return
        self._tracker.log(self._late | dict(figures), step=position, commit=True)
        self._position, self._late = position, {}

    def finish(self) -> None:
        assert self._tracker
        if self._late:
            self._tracker.tracker.summary.update(self._late)
        self._tracker.finish()
