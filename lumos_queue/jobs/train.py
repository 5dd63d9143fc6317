"""Training: a fit cut into windows of optimizer steps. Each window starts from the checkpoint before it, so a killed
worker costs one window, and any worker that sees the folder can go on.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.episode import Journal
from lumos_queue.errors import InfrastructureError
from lumos_queue.jobs.base import Identity, ItemResult, Work
from lumos_queue.settings import Settings
from lumos_queue.training.recipes.base import Recipe, Window
from lumos_queue.training.recipes.registry import read_recipe
from lumos_queue.util.launch_folder import child_environment, empty_folder
from lumos_queue.util.sanitize import storable_json

#: The child's output beyond this is dropped; its last line is the result.
_KEPT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TrainContext:
    """What a slice of training works with. It asks no endpoints."""

    folder: Path  #: that each child starts in
    identities: tuple[Identity, ...] = ()
    traffic: Mapping[str, Traffic] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Train:
    """Carry out a recipe, window by window. Items in order: a preparation, the windows, the export."""

    recipe: Recipe

    kind = "train"
    pool = "cpu"
    ordered = True
    concurrency = 1

    def as_json(self) -> dict[str, Any]:
        return {"recipe": self.recipe.name, **self.recipe.as_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Train:
        values = dict(value)
        return cls(read_recipe(values.pop("recipe"), values))

    def prompt_prefixes(self) -> dict[str, str]:
        return {}

    def windows(self) -> list[Window]:
        """What each item does."""
        return self.recipe.windows()

    @asynccontextmanager
    async def open(self, settings: Settings) -> AsyncIterator[TrainContext]:
        yield TrainContext(empty_folder(settings.home))

    async def run(self, work: Work, journal: Journal, context: TrainContext) -> ItemResult:
        """Do the item in a fresh process: memory, threads and a GPU are free again when it ends."""
        request = {"train": self.as_json(), "window": self.windows()[work.ordinal]}
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-P", "-m", "lumos_queue.jobs.train_child", cwd=context.folder, env=child_environment(),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            output, problems = await child.communicate(json.dumps(request).encode())
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        if child.returncode:
            # Whatever it is, a person can fix it and the job then goes on: the item stays owed and says why.
            last = problems.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
            raise InfrastructureError(f"the training process ended: {last[0]}")
        return ItemResult(output=storable_json(json.loads(output[-_KEPT_BYTES:].splitlines()[-1])))
