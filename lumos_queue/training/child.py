"""One item of a training job, in a process of its own: reads the request on standard input, writes one line of JSON."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.jobs.train import Train
from lumos_queue.orphan import die_with_parent
from lumos_queue.training.fit import FitSpec, fit_window
from lumos_queue.training.sources import Sources
from lumos_queue.training.starter import export_checkpoint, prepare, specs


def do(request: dict[str, Any]) -> dict[str, Any]:
    """Carry out one entry of `Train.windows()`."""
    train = Train.from_json(request["train"])
    folder = Path(train.folder)
    match request["do"]:
        case "prepare":
            return {"counts": prepare(Sources(Path(train.data), train.generated), folder)}
        case "fit":
            spec = specs(folder, train.steps, train.one_pass_steps)[request["fit"]]
            return fit_one(spec, folder / request["fit"], request["start"], request["stop"])
    fits = specs(folder, train.steps, train.one_pass_steps)
    last = {"iterative": train.steps, "one-pass": train.one_pass_steps}
    return {
        name: str(export_checkpoint(spec, folder / name / f"step-{last[name]:06d}", folder / "export" / name))
        for name, spec in fits.items()
    }


def fit_one(spec: FitSpec, folder: Path, start: int, stop: int) -> dict[str, Any]:
    """One window; the result is the figures of its checkpoint. The two newest checkpoints of a fit are kept."""
    previous = folder / f"step-{start:06d}" if start else None
    done = fit_window(spec, start, stop, previous, folder)
    for old in sorted(folder.glob("step-*"))[:-2]:
        shutil.rmtree(old)
    return {
        "fit": folder.name, "checkpoint": str(done.path), "step": done.step, "loss": done.loss, "tokens": done.tokens,
        "tokens_per_second": round(done.tokens_per_second, 1), "seconds": round(done.seconds, 2),
    }  # fmt: skip


def main() -> int:
    die_with_parent()
    try:
        print(json.dumps(do(json.load(sys.stdin))))
    except SpecError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
