"""Compare the speed of a fit with and without reports, checkpoints within the window and a tracker.

    python -m performance.training_reports [PAIRS] [STEPS] [TRACKER]

Each fit runs in its own process: a model of 2.3 million parameters (preset `scratch`). Without: no worker listens, and
there is no checkpoint within the window. With: a worker reads each report and feeds the tracker (tensorboard), and a
checkpoint is due every five seconds.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from lumos_queue.jobs.progress_board import ProgressBoard, read_progress
from lumos_queue.jobs.train_channel import TrainChannel
from lumos_queue.training.presets import PRESETS, SCRATCH
from lumos_queue.training.trackers.feed import TrackerFeed
from lumos_queue.training.trackers.messages import TrackedStep

CHECKPOINT_SECONDS = 5.0
CONVERSATIONS = 400


def main() -> None:
    pairs, steps, tracker = (*sys.argv[1:], *("5", "60", "tensorboard")[len(sys.argv) - 1 :])
    ratios = []
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        subprocess.run([sys.executable, "-m", __spec__.name, "fit", str(folder), "", "0"], check=True)
        for number in range(int(pairs)):
            without = run_fit(folder, int(steps))
            reported = asyncio.run(run_reported_fit(folder / str(number), folder, int(steps), tracker))
            ratios.append(reported / without)
            print(f"{without:.3f} s a step without, {reported:.3f} s with: {ratios[-1]:.3f}", flush=True)
    print(f"median {statistics.median(ratios):.3f}, from {min(ratios):.3f} to {max(ratios):.3f}")


def run_fit(folder: Path, steps: int) -> float:
    """Run a fit that nobody listens to. Return the seconds of a step."""
    command = [sys.executable, "-m", __spec__.name, "fit", str(folder), "", str(steps)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1])


async def run_reported_fit(tracked: Path, folder: Path, steps: int, tracker: str) -> float:
    """Run a fit with reports, checkpoints and a tracker. Return the seconds of a step."""
    tracked.mkdir()
    board, feed = ProgressBoard(), TrackerFeed([tracker], "measured", "0" * 64, {}, tracked, folder)
    board.begin(1)

    def note(report: dict) -> None:
        board.note(report)
        progress = read_progress(report)
        if "tokens" in report and progress.loss is not None:
            feed.send([TrackedStep("", progress.step, {"loss": progress.loss})])

    with TrainChannel(note, 1.0) as channel:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __spec__.name, "fit", str(folder), str(channel.folder), str(steps)),
            stdout=subprocess.PIPE,
        )
        output, _ = await child.communicate()
    await asyncio.to_thread(feed.close)
    if feed.problem:
        raise RuntimeError(feed.problem)
    return float(output.split()[-1])


def fit(folder: Path, channel: str, steps: int) -> None:
    """Run a fit in this process and print the seconds of a step; 0 steps: write its data."""
    from lumos_queue.training.engine.plan import WindowPlan
    from lumos_queue.training.engine.progress import Reporter
    from lumos_queue.training.engine.window import run_window
    from tests.tiny_fits import own_tokenizer, write_fit

    if not steps:
        write_fit(folder, own_tokenizer(), CONVERSATIONS)
        return
    spec = replace(
        PRESETS[SCRATCH], data=str(folder), tokenizer=str(folder / "tokenizer"), precision="fp32", steps=steps
    )
    reporter = Reporter(Path(channel) if channel else None)
    plan = WindowPlan(0, steps, steps, steps, checkpoint_seconds=CHECKPOINT_SECONDS if channel else 1e9)
    with TemporaryDirectory() as checkpoints:
        print(run_window(spec, Path(checkpoints), plan, reporter=reporter).seconds / steps)


if __name__ == "__main__":
    if sys.argv[1:2] == ["fit"]:
        fit(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main()
