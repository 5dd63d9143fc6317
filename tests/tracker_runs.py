"""Read what experiment trackers have stored, and run a worker that can be killed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import psutil

from lumos_queue.training.trackers.feed import TrackerFeed
from lumos_queue.training.trackers.messages import TrackedStep

JOB, DIGEST = "train-7", "0123456789abcdef"
RUN = "train-7-0123456789ab"
Point = tuple[str, int]  #: the name of a figure, and its step

#: A worker: `FOLDER NAME LAST` sends the steps 1 to LAST, and waits until it is killed.
WORKER = """
import sys, time
from pathlib import Path
from tests.tracker_runs import open_feed, steps
feed = open_feed(Path(sys.argv[1]), [sys.argv[2]])
feed.send(steps(1, int(sys.argv[3])))
while True:
    time.sleep(60)
"""


def open_feed(folder: Path, names: Sequence[str]) -> TrackerFeed:
    """Open a feed for a fit in `folder / "fit"`."""
    for name in ("fit", "start"):
        (folder / name).mkdir(exist_ok=True)
    return TrackerFeed(names, JOB, DIGEST, {"rate": 0.001, "base": "own"}, folder / "fit", folder / "start")


def steps(first: int, last: int, fit: str = "") -> list[TrackedStep]:
    return [
        TrackedStep(fit, step, {"loss": 1 / step, "rate": 0.001, "tokens": 64.0}) for step in range(first, last + 1)
    ]


def start_worker(folder: Path, name: str, last: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WORKER, str(folder), name, str(last)])


def find_tracker(parent: int | None = None) -> psutil.Process | None:
    """Return the process of a tracker that this process, or `parent`, has started."""
    for child in psutil.Process(parent).children():
        with suppress(psutil.Error):  # it has ended meanwhile
            if "lumos_queue.training.trackers.process" in child.cmdline():
                return child
    return None


def read_tensorboard(folder: Path) -> list[Point]:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    files = sorted((folder / "fit" / "tensorboard" / RUN).glob("events*"))
    events = [event for file in files for event in EventFileLoader(str(file)).Load()]
    return [(value.tag, event.step) for event in events for value in event.summary.value]


def read_trackio(folder: Path) -> list[Point]:
    rows = _query(folder / "trackio" / "lumos-queue.db", "SELECT metrics, step FROM metrics WHERE run_name = ?", RUN)
    return [(name, step) for figures, step in rows for name in json.loads(figures)]


def read_mlflow(folder: Path) -> list[Point]:
    query = "SELECT key, step FROM metrics JOIN runs USING (run_uuid) WHERE name = ?"
    return _query(folder / "mlflow.db", query, RUN)


def read_wandb(folder: Path) -> list[Point]:
    from lumos_queue.training.trackers.runs.wandb_files import read_records

    return list(
        (name, record.history.step.num)
        for file in sorted((folder / "fit" / "wandb").glob("*/*.wandb"))
        for record in read_records(file)
        if record.HasField("history")
        for name in _names(record.history.item)
    )


def _names(items: Sequence[object]) -> Iterator[str]:
    for item in items:
        name = "/".join(item.nested_key) or item.key  # pyright: ignore[reportAttributeAccessIssue]
        if not name.startswith("_"):
            yield name


def _query(path: Path, query: str, *values: str) -> list[tuple[str, int]]:
    if not path.exists():
        return []
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, values).fetchall()


READERS = {"tensorboard": read_tensorboard, "trackio": read_trackio, "mlflow": read_mlflow, "wandb": read_wandb}


def set_environment(monkeypatch, folder: Path) -> None:
    """Let every tracker store its runs below `folder`, without a server."""
    for name in [name for name in os.environ if name.startswith(("WANDB_", "MLFLOW_", "TRACKIO_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRACKIO_DIR", str(folder / "trackio"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{folder / 'mlflow.db'}")
    monkeypatch.setenv("WANDB_MODE", "offline")
