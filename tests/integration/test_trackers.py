"""Trackers of a fit, with their real packages: after restarts every step is there once, a failure costs no time."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import socket
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from lumos_queue.training.trackers.messages import Stage
from lumos_queue.training.trackers.names import TRACKERS
from tests.tcp_proxy import TcpProxy
from tests.tracker_runs import READERS, find_tracker, open_feed, set_environment, start_worker, steps

KEY = "5ecre7" * 6 + "5ecr"  # as long as a key of W&B


def _need(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"needs {name}: pip install -e '.[trackers]'")


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    set_environment(monkeypatch, tmp_path)


def _await(condition, seconds=300.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the event did not happen"
        time.sleep(0.01)


def _assert_each_once(points, last):
    counts = Counter(points)
    assert set(counts.values()) == {1}
    assert counts.keys() == {(name, step) for name in ("loss", "rate", "tokens") for step in range(1, last + 1)}


@pytest.mark.parametrize("name", TRACKERS)
def test_every_step_is_logged_once_after_three_restarts(name, tmp_path):
    _need(name)
    read = READERS[name]
    feed = open_feed(tmp_path, [name])
    feed.send(steps(1, 30))
    feed.close(300)
    assert not feed.problem
    _assert_each_once(read(tmp_path), 30)

    feed = open_feed(tmp_path, [name])  # its process is killed while it logs
    feed.send(steps(1, 40_000))
    _await(lambda: len(read(tmp_path)) > 3 * 100)
    tracker = find_tracker()
    assert tracker
    tracker.send_signal(signal.SIGKILL)
    _await(lambda: feed.problem)
    assert feed.problem == f"{name}: its process was ended by signal 9"
    feed.close(300)
    _damage_end(tmp_path)
    survivors = read(tmp_path)
    assert 3 * 30 < len(survivors) < 3 * 40_000
    last = max(step for _, step in survivors) + 200

    with start_worker(tmp_path, name, last) as worker:  # killed while its tracker logs
        _await(lambda: len(read(tmp_path)) > len(survivors) + 3 * 20)
        worker.kill()

    feed = open_feed(tmp_path, [name])  # at once: the process of the killed worker may still log
    feed.send(steps(1, last))
    feed.send(steps(last + 1, last + 10))
    feed.close(300)
    assert not feed.problem
    _assert_each_once(read(tmp_path), last + 10)


def _damage_end(folder: Path) -> None:
    """Cut the newest file of events in the middle of a record, as a killed process may leave it."""
    for file in sorted((folder / "fit" / "tensorboard").glob("*/events*"))[-1:]:
        os.truncate(file, file.stat().st_size - 7)


def test_a_new_process_waits_for_that_of_a_killed_worker(tmp_path):
    """The old process is stopped when its worker dies, and logs the steps that it has read later."""
    _need("tensorboard")
    read = READERS["tensorboard"]
    with start_worker(tmp_path, "tensorboard", 20_000) as worker:
        _await(lambda: len(read(tmp_path)) > 3 * 20)
        old = find_tracker(worker.pid)
        assert old
        old.suspend()
        worker.kill()
    feed = open_feed(tmp_path, ["tensorboard"])
    feed.send(steps(1, 20_000))
    _await(lambda: feed.stages == [Stage.WAITING])
    assert len(read(tmp_path)) < 3 * 20_000
    old.resume()
    feed.close(300)
    assert not feed.problem
    _assert_each_once(read(tmp_path), 20_000)


def test_figures_have_the_name_of_their_fit_and_later_figures_are_added(tmp_path):
    _need("tensorboard")
    feed = open_feed(tmp_path, ["tensorboard"])
    feed.send([*steps(1, 2, "adapter"), *steps(1, 1, "one-pass")])
    feed.send([type(step)(step.fit, step.step, {"dev_loss": 2.0}) for step in steps(1, 1, "one-pass")])
    feed.close(300)
    points = READERS["tensorboard"](tmp_path)
    assert [point for point in points if "loss" in point[0]] == [
        ("adapter/loss", 1),
        ("adapter/loss", 2),
        ("one-pass/loss", 3),
        ("one-pass/dev_loss", 3),
    ]


def _refused_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


def _name_server(monkeypatch, port: int) -> None:
    monkeypatch.delenv("WANDB_MODE")
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "3")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://somebody:{KEY}@127.0.0.1:{port}")
    monkeypatch.setenv("TRACKIO_SERVER_URL", f"http://127.0.0.1:{port}/?write_token={KEY}")


@pytest.mark.parametrize("server", ["refuses", "hangs"])
@pytest.mark.parametrize("name", ["wandb", "mlflow", "trackio"])
def test_a_server_that_does_not_work_is_noted_once_and_without_keys(name, server, tmp_path, monkeypatch, caplog):
    _need(name)
    caplog.set_level(logging.WARNING)
    with TcpProxy(_refused_port(), "black_hole") as proxy:
        _name_server(monkeypatch, proxy.port if server == "hangs" else _refused_port())
        feed = open_feed(tmp_path, [name])
        for step in range(1, 4):
            feed.send(steps(step, step))
        if server == "refuses":
            _await(lambda: feed.problem)
        else:
            _await(lambda: proxy.accepted)
        feed.close(1.0)
    assert feed.problem.startswith(f"{name}: ")
    assert "\n" not in feed.problem and KEY not in caplog.text and "127.0.0.1" not in feed.problem
    assert [record.message for record in caplog.records].count(caplog.records[0].message) == len(caplog.records) == 1
    assert find_tracker() is None


def test_a_silent_process_is_killed_when_the_feed_is_closed(tmp_path):
    """It is stopped, as by a disk that does not answer: thousands of steps fill its pipe."""
    _need("tensorboard")
    feed = open_feed(tmp_path, ["tensorboard"])
    feed.send(steps(1, 5))
    _await(lambda: len(READERS["tensorboard"](tmp_path)) == 3 * 5)
    tracker = find_tracker()
    assert tracker
    tracker.suspend()
    feed.send(steps(6, 90_000))
    feed.send(steps(90_001, 120_000))
    feed.send(steps(120_001, 120_001))
    assert feed.problem == "tensorboard: it is too slow: further steps are logged at the next start of a worker"
    feed.close(0.5)
    assert find_tracker() is None


@pytest.mark.parametrize(("name", "variable"), [("wandb", "WANDB_API_KEY"), ("mlflow", "MLFLOW_TRACKING_URI")])
def test_a_missing_setting_is_named(name, variable, tmp_path, monkeypatch):
    _need(name)
    monkeypatch.delenv("WANDB_MODE")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    feed = open_feed(tmp_path, [name])
    feed.send(steps(1, 1))
    feed.close(300)
    assert variable in feed.problem


def test_no_process_is_started_without_a_step(tmp_path):
    feed = open_feed(tmp_path, TRACKERS)
    feed.close()
    assert find_tracker() is None and not feed.problem
