"""Choose the checkpoint of a fit whose weights are exported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.training.engine.checkpoints import checkpoint_of, newest_usable, read_seal
from lumos_queue.training.engine.control import AUTO, BEST, LAST
from lumos_queue.training.engine.dev_record import DevRecord
from lumos_queue.training.engine.spec import FitSpec


@dataclass(frozen=True, slots=True)
class KeptCheckpoint:
    """The checkpoint that is exported."""

    checkpoint: Path
    step: int
    keep: str  #: BEST or LAST
    dev_loss: float | None = None  #: of the best checkpoint
    note: str = ""  #: why it is not the checkpoint that was requested

    def as_json(self) -> dict[str, Any]:
        values = {"keep": self.keep, "step": self.step, "dev_loss": self.dev_loss}
        return values | ({"note": self.note} if self.note else {})


def choose_checkpoint(spec: FitSpec, folder: Path, keep: str, steps: int) -> KeptCheckpoint:
    """Return the checkpoint of a complete fit that `keep` (control.py) selects.

    If the best checkpoint is damaged, the last one is taken, with a note. Raises SpecError if the last one is damaged.
    """
    last = newest_usable(folder, spec.digest, steps)
    if last.path is None or last.problems:
        raise SpecError(last.problems[0] if last.problems else f"'{folder}' has no checkpoint of this fit.")
    last_step, best = last.seal["step"], DevRecord.from_seal(last.seal).best
    if keep == LAST or best is None:
        return KeptCheckpoint(last.path, last_step, LAST)
    assert keep in (AUTO, BEST), keep
    checkpoint = checkpoint_of(folder, best[0])
    try:
        read_seal(checkpoint)
    except SpecError as problem:
        note = f"The weights of the last step are exported instead of the best ones: {problem}"
        return KeptCheckpoint(last.path, last_step, LAST, note=note)
    return KeptCheckpoint(checkpoint, best[0], BEST, best[1])
