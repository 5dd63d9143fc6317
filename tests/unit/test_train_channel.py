"""The channel between a worker and its training process, and the newest report that the heartbeat stores."""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

from lumos_queue.jobs.progress_board import MAX_POINTS, ProgressBoard
from lumos_queue.jobs.train_channel import TrainChannel
from lumos_queue.records import FitPhase, FitProgress
from lumos_queue.training.engine.progress import PIPE, STOP


def report(step: int, loss: float | None = 1.0, phase: FitPhase = FitPhase.TRAINING, is_step: bool = True) -> dict:
    progress = asdict(FitProgress(phase=phase, step=step, steps=9, start_step=0, loss=loss))
    return {"progress": progress} | ({"tokens": 10} if is_step else {})


async def listen(*chunks: bytes) -> list[dict]:
    """What a listener gets of the chunks that a process writes."""
    reports: list[dict] = []
    with TrainChannel(lambda value: reports.append(value["progress"]), 1.0) as channel:
        writer = os.open(channel.folder / PIPE, os.O_WRONLY | os.O_NONBLOCK)
        for chunk in chunks:
            os.write(writer, chunk)
            await asyncio.sleep(0.01)
        os.close(writer)
        folder = channel.folder
    assert not folder.exists()
    return reports


def test_lines_arrive_whole_however_they_are_cut_and_others_are_ignored():
    lines = b"".join(json.dumps(report(step)).encode() + b"\n" for step in (1, 2, 3))
    hostile = b'tail of a lost line"}\n[1]\nnull\n{"progress": null}\n' + b"\xff\xfe\n"
    reports = asyncio.run(listen(hostile + lines[:50], lines[50:300], lines[300:], hostile))
    assert [progress["step"] for progress in reports if progress] == [1, 2, 3]


def test_a_report_that_the_listener_cannot_read_ends_nothing():
    async def run() -> FitProgress:
        board = ProgressBoard()
        board.begin(7)
        with TrainChannel(board.note, 1.0) as channel:
            writer = os.open(channel.folder / PIPE, os.O_WRONLY | os.O_NONBLOCK)
            for value in (
                {"progress": {"phase": "resting"}},
                {"progress": {"phase": "training", "color": 1}},
                report(4),
            ):
                os.write(writer, json.dumps(value).encode() + b"\n")
            await asyncio.sleep(0.05)
            os.close(writer)
        newest = board.read()
        assert newest is not None and newest.item == 7
        return newest.progress

    assert asyncio.run(run()).step == 4


def test_a_process_may_take_the_stated_time_after_the_first_request_to_stop():
    async def run() -> tuple[float, float, bool]:
        with TrainChannel(lambda value: None, 0.3) as channel:
            first = channel.request_stop()
            is_asked = (channel.folder / STOP).exists()
            await asyncio.sleep(0.4)
            return first, channel.request_stop(), is_asked

    first, second, is_asked = asyncio.run(run())
    assert first == pytest.approx(0.3, abs=0.05) and second == 0.0 and is_asked


def test_the_board_keeps_the_newest_report_of_the_item_that_runs():
    board = ProgressBoard()
    assert board.read() is None
    board.begin(1)
    board.note(report(0, None, FitPhase.LOADING, is_step=False))
    for step in range(1, 500):
        board.note(report(step, loss=float(step)))
    newest = board.read()
    assert newest is not None and (newest.item, newest.progress.step) == (1, 499)
    assert 40 <= len(newest.points) <= MAX_POINTS and all(step == value for step, value in newest.points)
    board.note(report(300, loss=0.5))  # with less memory
    newest = board.read()
    assert newest is not None and max(step for step, _ in newest.points) == 296
    board.begin(2)
    newest = board.read()
    assert newest is not None and (newest.item, newest.points) == (2, ())
    assert newest.progress == FitProgress(phase=FitPhase.LOADING), "the former phase has ended"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_unknown(value):
    board = ProgressBoard()
    board.begin(1)
    board.note(json.loads(json.dumps(report(3, loss=value))))
    newest = board.read()
    assert newest is not None and newest.progress.loss is None and newest.points == ()


def test_the_training_process_takes_term_as_a_request_to_stop(tmp_path):
    """It is in another session, so Ctrl-C in a terminal does not reach it."""
    code = (
        "import os, signal\n"
        "from lumos_queue.training.engine.progress import Reporter\n"
        "reporter = Reporter()\n"
        "reporter.stop_at_signals()\n"
        "assert not reporter.is_stop_requested()\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "assert reporter.is_stop_requested()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=60).returncode == 0
