"""The worker's side of the channel to a training process: its reports, and the request to stop (engine/progress.py)."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from lumos_queue.training.engine.progress import PIPE, STOP

#: Called with each report: a line of JSON.
Listener = Callable[[dict[str, Any]], None]
_READ_BYTES = 1 << 16
log = logging.getLogger(__name__)


class TrainChannel:
    """A folder with a named pipe, which the process writes, and perhaps a file that asks the process to stop."""

    def __init__(self, listener: Listener, stop_seconds: float):
        """`stop_seconds`: how long the process may continue after it was asked to stop."""
        self._listener, self._stop_seconds = listener, stop_seconds
        self._stop_time: float | None = None
        self._rest = b""  # the beginning of a line

    def __enter__(self) -> Self:
        self._directory = tempfile.TemporaryDirectory(prefix="lumos-train-")
        self.folder = Path(self._directory.name)
        os.mkfifo(self.folder / PIPE, 0o600)
        # Open for writing, too, so that the pipe has no end while processes come and go.
        self._pipe = os.open(self.folder / PIPE, os.O_RDWR | os.O_NONBLOCK)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._pipe, self._read)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.remove_reader(self._pipe)
        self._read()
        os.close(self._pipe)
        self._directory.cleanup()

    def request_stop(self) -> float:
        """Ask the process to stop at its next step. Return the seconds that it may still take."""
        now = time.monotonic()
        if self._stop_time is None:
            self._stop_time = now
            (self.folder / STOP).touch()
        return max(0.0, self._stop_time + self._stop_seconds - now)

    def _read(self) -> None:
        try:
            while chunk := os.read(self._pipe, _READ_BYTES):
                *lines, self._rest = (self._rest + chunk).split(b"\n")
                for line in lines:
                    self._note(line)
        except BlockingIOError:
            return

    def _note(self, line: bytes) -> None:
        try:
            self._listener(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError):  # a process of a plug-in may write anything
            log.debug("a report of a training process was not understood: %.200r", line)
