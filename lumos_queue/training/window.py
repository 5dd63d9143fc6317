"""One window of a fit, as one item of a job, and the model folder at the end."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from lumos_queue.training.checkpoints import load_weights
from lumos_queue.training.fit import FitSpec, fit_window, load_tokenizer
from lumos_queue.training.model import export, make_model


def run_window(spec: FitSpec, folder: Path, start: int, stop: int) -> dict[str, Any]:
    """The optimizer steps `start` to `stop` - 1; the result is the figures of their checkpoint.

    The checkpoints of a fit are in `folder`; the two newest are kept. Raises SpecError as `fit_window` does.
    """
    previous = folder / f"step-{start:06d}" if start else None
    done = fit_window(spec, start, stop, previous, folder)
    for old in sorted(folder.glob("step-*"))[:-2]:
        shutil.rmtree(old)
    return {
        "fit": folder.name,
        "checkpoint": str(done.path),
        "step": done.step,
        "loss": done.loss,
        "tokens": done.tokens,
        "tokens_per_second": round(done.tokens_per_second, 1),
        "seconds": round(done.seconds, 2),
    }


def export_checkpoint(spec: FitSpec, checkpoint: Path, folder: Path) -> Path:
    """A model folder from a checkpoint."""
    tokenizer = load_tokenizer(spec.tokenizer)
    model = make_model(spec.model, tokenizer, spec.seed)
    load_weights(checkpoint, model)
    return export(model, tokenizer, folder)
