"""Training: a fit is divided into windows of optimizer steps.

Each window starts from the checkpoint of the window before. A window that is stopped continues at its last step, and
one that was killed at its newest checkpoint, on any worker with access to the folder. A window that learns from
rollouts requests these first, and is pending until they are complete.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from db.kinds.job_kinds import JobKind
from db.kinds.pools import Pool
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.episode import Journal
from lumos_queue.errors import DivergedFit, FitInterrupted, InfrastructureError, LumosError, SpecError
from lumos_queue.jobs.base import Identity, ItemResult, Work
from lumos_queue.jobs.fork_server import fork_server
from lumos_queue.jobs.progress_board import ProgressBoard
from lumos_queue.jobs.rollouts import Rollouts
from lumos_queue.jobs.train_channel import TrainChannel
from lumos_queue.jobs.train_trackers import JobTrackers
from lumos_queue.training.early_end import skip_window
from lumos_queue.training.engine.control import DEFAULTS, FitControl
from lumos_queue.training.recipes.base import Recipe, Window, WindowResult
from lumos_queue.training.recipes.former import FormerFit
from lumos_queue.training.recipes.registry import read_recipe
from lumos_queue.training.recipes.rltf import Rltf
from lumos_queue.training.recipes.sft import Sft
from lumos_queue.util.launch_folder import child_environment, empty_folder
from lumos_queue.util.plugins import TRUSTED
from lumos_queue.util.sanitize import storable_json

#: Bytes of the end of the child's output that are kept. Its last line is the result: 150 bytes for each optimizer step.
_KEPT_BYTES = 1 << 25
#: Exit codes of the child with a last line for a person on standard error.
REFUSED, DIVERGED, INTERRUPTED = 2, 3, 4
END_SECONDS = 5.0  #: for a killed process to disappear


class TrainingCrashed(LumosError):
    """Raised when the training process ends with an unexplained error: an internal error, or a full disk."""


@dataclass(frozen=True, slots=True)
class TrainContext:
    """The objects that a slice of training needs. It has no endpoints."""

    folder: Path  #: working folder of each child
    rollouts: Rollouts | None = None  #: of a recipe that learns from rollouts
    identities: tuple[Identity, ...] = ()
    traffic: Mapping[str, AdmissionControl] = field(default_factory=dict[str, AdmissionControl])
    board: ProgressBoard = field(default_factory=ProgressBoard)  #: of the training processes
    stop_seconds: float = 0.0  #: that a training process has for its step and a checkpoint when its item is cancelled
    trackers: JobTrackers | None = None

    def note(self, report: dict[str, Any]) -> None:
        """Note a report of the training process."""
        self.board.note(report)
        if self.trackers:
            self.trackers.note(report)


@dataclass(frozen=True, slots=True)
class Train:
    """A job that carries out a recipe. Its items are, in this order, a preparation, the windows, and the export."""

    recipe: Recipe | FormerFit

    kind = JobKind.TRAIN
    ordered = True
    concurrency = 1

    @property
    def pool(self) -> Pool:
        return Pool.GPU if self.recipe.device == "cuda" else Pool.CPU

    def as_json(self) -> dict[str, Any]:
        return {"recipe": self.recipe.name, **self.recipe.as_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Train:
        values = dict(value)
        return cls(read_recipe(values.pop("recipe"), values))

    def prompt_prefixes(self) -> dict[str, str]:
        return {}

    def windows(self) -> list[Window]:
        """Return the windows, one for each item of the job in order."""
        return self.recipe.windows()

    @asynccontextmanager
    async def open(self, deployment: Deployment) -> AsyncGenerator[TrainContext, None]:
        rollouts = Rollouts(deployment) if isinstance(self.recipe, Rltf) else None
        folder, stop_seconds = empty_folder(deployment.settings.home), deployment.settings.drain_seconds
        control: FitControl = getattr(self.recipe, "control", DEFAULTS)  # a plug-in's recipe has none
        trackers = None
        if control.report_to:
            trackers = JobTrackers(deployment.database, control.report_to, self.recipe.folder, folder)
        try:
            yield TrainContext(folder, rollouts, stop_seconds=stop_seconds, trackers=trackers)
        finally:
            if trackers:
                trackers.leave()

    async def run(self, work: Work, journal: Journal, context: TrainContext) -> ItemResult:
        """Run the item in a separate process, whose end releases memory, threads and GPU.

        A cancellation asks the process to end at its next step with a checkpoint. It is killed if it takes too long.

        Raises SpecError for a problem that a person has to fix, DivergedFit if the weights are unusable,
        InfrastructureError if the process was killed, FitInterrupted if a signal has stopped it, WaitsForJob until the
        item's rollouts are complete, NeedsAttention if some rollouts are missing, and TrainingCrashed for any other
        failure.
        """
        window = self.windows()[work.ordinal]
        if isinstance(self.recipe, Sft) and (skipped := skip_window(self.recipe, window)):
            return ItemResult(output=storable_json(skipped.output))
        if context.rollouts and isinstance(self.recipe, Rltf) and "rows" in window:
            window = window | {"rollouts": await context.rollouts.gather(self.recipe, window, work.item)}
        request = {"train": self.as_json(), "window": window, "plugins": TRUSTED.as_setting()}
        run = fork_server().run if context.rollouts else _run_new
        context.board.begin(work.item)
        if context.trackers:
            await context.trackers.begin(work.item)
        with TrainChannel(context.note, context.stop_seconds) as channel:
            request["channel"] = str(channel.folder)
            code, output, problems = await run(request, context.folder, channel)
        if code:
            raise problem_of(code, problems)
        window_result = WindowResult.from_json(json.loads(output[-_KEPT_BYTES:].splitlines()[-1]))
        return ItemResult(
            output=storable_json(window_result.output),
            training_steps=window_result.steps,
            feedback_steps=window_result.feedback,
            models=window_result.models,
            pause=window_result.pause,
        )


async def _run_new(request: dict[str, Any], folder: Path, channel: TrainChannel) -> tuple[int, bytes, bytes]:
    """Run an item in a new process. Return its exit code, standard output and standard error."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-m",
        "lumos_queue.jobs.train_child",
        cwd=folder,
        env=child_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the worker, which asks the process to stop
    )
    outputs = asyncio.ensure_future(child.communicate(json.dumps(request | {"parent": os.getpid()}).encode()))
    try:
        output, problems = await asyncio.shield(outputs)
    except asyncio.CancelledError:
        await asyncio.wait([outputs], timeout=channel.request_stop())
        raise
    finally:
        if child.returncode is None:
            child.kill()
            await asyncio.wait([outputs], timeout=END_SECONDS)  # a process that it started may hold the pipes
    return child.returncode or 0, output, problems


def problem_of(code: int, output: bytes) -> LumosError:
    """Return the error for an exit code other than 0 of a training process. `output`: its standard error."""
    last = next(iter(reversed(output.decode(errors="replace").strip().splitlines())), f"exit code {code}")
    if code == REFUSED:
        return SpecError(last)
    if code == DIVERGED:
        return DivergedFit(last)
    if code == INTERRUPTED:
        return FitInterrupted(last)
    if code < 0:
        return InfrastructureError(f"the training process was killed by signal {-code}")
    return TrainingCrashed(last)
