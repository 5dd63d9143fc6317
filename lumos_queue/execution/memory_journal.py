"""A journal in memory, for examples, tests, and episodes that are stored only when they are complete."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from lumos_queue.commands import KEPT_DIGITS, Approve, Result, Step


class MemoryJournal:
    """Keeps steps in the order of their recording. The results of the initial `steps` are replayed."""

    def __init__(self, steps: Iterable[Step] = ()):
        self.steps = list(steps)
        self.artifacts: dict[str, tuple[str, bytes]] = {}  #: media type and bytes, by sha256
        self._records = {
            (step.position, step.branch): (step.command.digest[:KEPT_DIGITS], step.result)
            for step in self.steps
            if step.result is not None or not isinstance(step.command, Approve)  # a question without an answer
        }

    def find(self, position: int, branch: int) -> tuple[str, Result] | None:
        return self._records.get((position, branch))

    def record(self, step: Step) -> None:
        self.steps.append(step)

    def keep(self, data: bytes, media_type: str) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.artifacts[digest] = (media_type, data)
        return digest

    def find_kept(self, digest: str) -> bytes | None:
        return self.artifacts[digest][1] if digest in self.artifacts else None

    async def wait_for_capacity(self) -> None:
        """Return at once, because memory always has capacity."""
