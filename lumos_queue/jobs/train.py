"""Training: a fit cut into windows of optimizer steps. Each window starts from the checkpoint before it, so a killed
worker costs one window, and any worker that sees the folder can go on.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from lumos_queue.episode import Journal
from lumos_queue.errors import InfrastructureError
from lumos_queue.jobs.base import Result, Work
from lumos_queue.storable import storable_json

#: The child's output beyond this is dropped; its last line is the result.
_KEPT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Train:
    """The starter's recipe: prepare the conversations, fit the iterative model, go on from it to the one-pass model.

    Items in order: the preparation, the windows of both fits, the export.
    """

    recipe: str  #: 'starter'
    data: str  #: folder with the original files of gsm8k, mawps, asdiv and svamp
    folder: str  #: for conversations, checkpoints and the model; every worker must see it
    steps: int = 6500  #: optimizer steps of the iterative fit
    one_pass_steps: int = 1500  #: optimizer steps of the one-pass fit
    window: int = 250  #: optimizer steps of one item
    generated: int = 40_000  #: wordmath problems to generate

    kind = "train"
    pool = "cpu"
    ordered = True
    concurrency = 1

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Train:
        return cls(**value)

    def heads(self) -> dict[str, str]:
        return {}

    def windows(self) -> list[dict[str, Any]]:
        """What each item does."""
        plan: list[dict[str, Any]] = [{"do": "prepare"}]
        for fit, steps in (("iterative", self.steps), ("one-pass", self.one_pass_steps)):
            for start in range(0, steps, self.window):
                plan.append({"do": "fit", "fit": fit, "start": start, "stop": min(start + self.window, steps)})
        return [*plan, {"do": "export"}]

    @asynccontextmanager
    async def open(self, settings: Any) -> AsyncIterator[None]:
        yield None

    async def run(self, work: Work, journal: Journal, context: None) -> Result:
        """Do the item in a fresh process: memory, threads and a GPU are free again when it ends."""
        request = {"train": self.as_json(), **self.windows()[work.ordinal]}
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "lumos_queue.training.child",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            output, problems = await child.communicate(json.dumps(request).encode())
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        if child.returncode:
            # Whatever it is, a person can mend it and the job then goes on: the item stays owed and says why.
            last = problems.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {child.returncode}"]
            raise InfrastructureError(f"the training process ended: {last[0]}")
        return Result(output=storable_json(json.loads(output[-_KEPT_BYTES:].splitlines()[-1])))
