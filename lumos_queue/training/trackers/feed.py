"""Feed the trackers of a job. Each tracker has its own process, which can neither delay nor end the fit."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from lumos_queue.training.trackers.messages import ConfigValue, RunHeader, Stage, TrackedStep
from lumos_queue.training.trackers.tracker_process import TrackerProcess


class TrackerFeed:
    """The trackers of a job, as a worker uses them.

    A worker first sends all accepted steps of the job in their order, then each step that a fit reports. Each tracker
    skips the steps that it has. A tracker that fails does so alone: `problem` has a line, and the log a warning.
    """

    def __init__(
        self,
        names: Sequence[str],
        job: str,
        digest: str,
        config: Mapping[str, ConfigValue],
        folder: Path,
        start_folder: Path,
    ):
        """`digest`: of the recipe. `config`: the request (`flatten`). `folder`: of the fit, absolute.

        `start_folder`: where the processes start, an empty folder.
        """
        headers = [RunHeader(name, job, digest, str(folder), config) for name in names]
        self._processes = [TrackerProcess(header, start_folder) for header in headers]

    def send(self, steps: Sequence[TrackedStep]) -> None:
        """Log the steps. This never waits; the first steps start the processes."""
        for process in self._processes:
            process.put(steps)

    @property
    def problem(self) -> str:
        """The first failure of each tracker in one line; '' without a failure."""
        return "; ".join(process.problem for process in self._processes if process.problem)

    @property
    def stages(self) -> list[Stage]:
        """What the process of each tracker does."""
        return [process.stage for process in self._processes]

    def close(self, seconds: float = 30.0) -> None:
        """Wait until all steps are logged and the runs closed, for `seconds` at most. A silent tracker is killed."""
        deadline = time.monotonic() + seconds
        for process in self._processes:
            process.end()
        for process in self._processes:
            process.wait(deadline)
