"""A run of TensorBoard: the folder `tensorboard/RUN` in the folder of the fit.

Each process writes its own file of events. A killed process may leave a damaged end of its file, which readers skip.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from accelerate.tracking import TensorBoardTracker
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from lumos_queue.training.trackers.messages import RunHeader
from lumos_queue.training.trackers.runs.base import Logged

FOLDER = "tensorboard"


class TensorBoardRun:
    """The run of a job."""

    warning = ""

    def __init__(self, header: RunHeader):
        self._header = header
        self._tracker: TensorBoardTracker | None = None

    def open(self) -> Logged:
        if self._tracker:
            with suppress(Exception):  # its writer may have failed: another one writes another file
                self._tracker.finish()
        folder = Path(self._header.folder) / FOLDER
        logged = read_events(folder / self._header.run)
        self._tracker = TensorBoardTracker(self._header.run, folder)
        self._tracker.start()
        if not logged.newest:
            self._tracker.store_init_configuration(dict(self._header.config))
        return logged

    def log(self, position: int, figures: Mapping[str, float]) -> None:
        assert self._tracker
        self._tracker.log(dict(figures), step=position)  # and flush

    def finish(self) -> None:
        assert self._tracker
        self._tracker.finish()


def read_events(folder: Path) -> Logged:
    """Return the newest position of each figure in a run's folder."""
    logged = Logged()
    for file in sorted(folder.glob("events.out.tfevents.*")):
        for event in EventFileLoader(str(file)).Load():
            for scalar in event.summary.value:
                logged.newest[scalar.tag] = max(event.step, logged.newest.get(scalar.tag, 0))
    return logged
