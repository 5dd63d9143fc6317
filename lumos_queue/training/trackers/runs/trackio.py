"""A run of trackio: in the database of TRACKIO_DIR, or on the server or Space that its variables name.

trackio's thread writes every half second, the rows of a run in one transaction.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from accelerate.tracking import TrackioTracker
from trackio.sqlite_storage import SQLiteStorage  # pyright: ignore[reportMissingImports]
from trackio.utils import get_storage_mode  # pyright: ignore[reportMissingImports]

from lumos_queue.errors import SpecError
from lumos_queue.training.trackers.messages import PROJECT, RunHeader
from lumos_queue.training.trackers.runs.base import Logged

#: Fields of a stored row that are no figures.
_OWN_FIELDS = ("step", "timestamp")


class TrackioRun:
    """The run of a job."""

    def __init__(self, header: RunHeader):
        self.warning = ""
        self._header = header
        self._tracker: TrackioTracker | None = None

    def open(self) -> Logged:
        if self._tracker:
            self._tracker.finish()
        if get_storage_mode() != "sqlite":  # the rows in its files would be logged again
            raise SpecError(
                "TRACKIO_DIR is on a network file system, where a run cannot be continued: name a local folder."
            )
        config = dict(self._header.config)
        tracker = TrackioTracker(
            PROJECT,
            name=self._header.run,
            config=config,
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            tracker.start()
        if failures := [str(message.message) for message in messages if "trackio" in str(message.message)]:
            raise ConnectionError(failures[0])
        self._tracker = tracker
        warnings.showwarning = self._keep_warning  # of its thread
        return self._read_logged(tracker.tracker)

    def _read_logged(self, run: Any) -> Logged:
        """Return what the run has: from the database, or from what the server has reported as its newest step."""
        logged = Logged()
        if run._space_id or run._server_base_url:
            logged.start = run._next_step - 1
            return logged
        for row in SQLiteStorage.get_logs(PROJECT, run.name, run_id=run.id):
            logged.add(row["step"], {name: 0.0 for name in row if name not in _OWN_FIELDS})
        return logged

    def _keep_warning(self, message: Warning | str, *_: object, **__: object) -> None:
        self.warning = self.warning or str(message)

    def log(self, position: int, figures: Mapping[str, float]) -> None:
        assert self._tracker
        self._tracker.log(dict(figures), step=position)

    def finish(self) -> None:
        assert self._tracker
        self._tracker.finish()
