"""A run of MLflow. A later process finds it by its tag on the server or in the file of MLFLOW_TRACKING_URI."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from accelerate.tracking import MLflowTracker

from lumos_queue.training.trackers.messages import PROJECT, RunHeader
from lumos_queue.training.trackers.runs.base import Logged

mlflow: Any = import_module("mlflow")  # type checkers would take this file for the package
TAG = "lumos.run"


class MLflowRun:
    """The run of a job."""

    warning = ""

    def __init__(self, header: RunHeader):
        self._header = header
        self._tracker: MLflowTracker | None = None

    def open(self) -> Logged:
        if self._tracker is None:
            run_id = self._find_run()
            tracker = MLflowTracker(PROJECT, run_id=run_id, run_name=self._header.run, tags={TAG: self._header.run})
            tracker.start()
            self._tracker = tracker
            if run_id is None:
                tracker.store_init_configuration(dict(self._header.config))
        metrics = mlflow.get_run(self._tracker.tracker.info.run_id).data.to_proto().metrics  # the newest of each name
        return Logged(newest={metric.key: metric.step for metric in metrics})

    def _find_run(self) -> str | None:
        """Return the id of the job's run, or None."""
        runs = mlflow.search_runs(
            experiment_names=[os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT)],
            filter_string=f"tags.`{TAG}` = '{self._header.run}'",
            max_results=1,
            output_format="list",
        )
        return runs[0].info.run_id if runs else None

    def log(self, position: int, figures: Mapping[str, float]) -> None:
        assert self._tracker
        self._tracker.log(dict(figures), step=position)

    def finish(self) -> None:
        assert self._tracker
        self._tracker.finish()
