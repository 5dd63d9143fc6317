"""Compare the estimates of memory and duration with what fits really take, on a CPU.

    python -m performance.training_memory [NAME ...] [--out FILE.json]

Each fit runs in its own process, on conversations of random tokens that are all as long as `--max-length` allows, half
of them learnt. `measured` is the largest resident memory of the process (ru_maxrss); `seconds` are those of the steps
after the third, estimated from the first three.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

from lumos_queue.training.engine.spec import FP32, FitSpec, LoraShape
from lumos_queue.training.presets import PLANNER, PRESETS, SCRATCH, TOOLS

STEPS, TIMED = 9, 3
#: A base of 110 million parameters, and the tokens of its vocabulary.
BASE, BASE_TOKENS = "llama of 110 M", 32_000
_LARGE = FitSpec(base=BASE, batch=4, micro_batch=2, max_length=512, precision=FP32)
FITS: dict[str, FitSpec] = {
    "scratch preset": replace(PRESETS[SCRATCH], precision=FP32),
    "planner preset": PRESETS[PLANNER],
    "tools preset": PRESETS[TOOLS],
    "lora": replace(_LARGE, lora=LoraShape(rank=16)),
    "lora, bf16": replace(_LARGE, lora=LoraShape(rank=16), precision="bf16"),
    "full": _LARGE,
    "full, one micro-batch": replace(_LARGE, micro_batch=4),
    "full, gradient checkpointing": replace(_LARGE, gradient_checkpointing=True),
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The estimate of a fit and its measurement, in bytes and seconds."""

    name: str
    estimate: dict[str, Any]
    estimate_took: float  #: seconds
    measured: int
    step_seconds: list[float]
    estimated_seconds: float
    measured_seconds: float


def make_tokenizer(size: int, folder: Path) -> None:
    """Write a tokenizer of `size` tokens, learnt from random words."""
    from lumos_queue.training.tokenizer import train_tokenizer

    source = random.Random(0)
    words = (" ".join("".join(source.choices(ascii_lowercase, k=8)) for _ in range(size)) for _ in range(2))
    tokenizer = train_tokenizer(words, size, ())
    assert len(tokenizer) == size, len(tokenizer)
    tokenizer.save_pretrained(folder)


def prepare(spec: FitSpec, folder: Path) -> FitSpec:
    """Write tokenizer, base and conversations of a fit to `folder`; return the fit with their paths."""
    import numpy as np
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from lumos_queue.training.engine.data import DEV, TRAIN, write_examples
    from lumos_queue.training.engine.masks import Example

    tokens = BASE_TOKENS if spec.base else 2_000
    make_tokenizer(tokens, folder / "tokenizer")
    generator = np.random.default_rng(0)
    learnt = np.arange(spec.max_length) % 2 == 1
    ids = [generator.integers(0, tokens, spec.max_length, dtype=np.int32) for _ in range(spec.batch * STEPS)]
    write_examples((Example(row, learnt) for row in ids), folder / TRAIN)
    write_examples((Example(row, learnt) for row in ids[:4]), folder / DEV)
    if spec.base:
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=tokens,
            hidden_size=768,
            intermediate_size=2048,
            num_hidden_layers=12,
            num_attention_heads=12,
            max_position_embeddings=1024,
            tie_word_embeddings=True,
        )
        LlamaForCausalLM(config).save_pretrained(folder / "base")
        make_tokenizer(tokens, folder / "base")
    base = str(folder / "base") if spec.base else ""
    return replace(spec, data=str(folder), tokenizer=str(folder / "tokenizer"), base=base, steps=STEPS)


def work(folder: Path, part: str) -> None:
    """Print the estimate of the fit in `folder` as JSON, or its measurement. The process does nothing else."""
    from lumos_queue.training.engine.duration import estimate_seconds
    from lumos_queue.training.engine.estimate import estimate_memory
    from lumos_queue.training.engine.plan import WindowPlan
    from lumos_queue.training.engine.trainer import ConversationTrainer
    from lumos_queue.training.engine.window import run_window

    spec = FitSpec.from_json(json.loads((folder / "spec.json").read_text()))
    if part == "estimate":
        began = time.monotonic()
        values: dict[str, Any] = {"estimate": estimate_memory(spec).as_json()}
        print(json.dumps(values | {"estimate_took": time.monotonic() - began}))
        return
    times: list[float] = []
    train, log = ConversationTrainer.train, ConversationTrainer.log
    ConversationTrainer.train = _noting(train, times)
    ConversationTrainer.log = _noting(log, times)
    run_window(spec, folder / "fit", WindowPlan(0, STEPS))
    seconds = [after - before for before, after in pairwise(times)][:STEPS]
    values = {
        "measured": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "step_seconds": seconds,
        "estimated_seconds": estimate_seconds(seconds[:TIMED], STEPS - TIMED),
        "measured_seconds": sum(seconds[TIMED:]),
    }
    print(json.dumps(values))


def _noting(function: Callable[..., Any], times: list[float]) -> Callable[..., Any]:
    """Return the function; each call first notes the time."""

    def call(*arguments: Any, **options: Any) -> Any:
        times.append(time.monotonic())
        return function(*arguments, **options)

    return call


def compare(name: str) -> Comparison:
    """Estimate and run one fit."""
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        spec = prepare(FITS[name], folder)
        (folder / "spec.json").write_text(json.dumps(spec.as_json()))
        values: dict[str, Any] = {"name": name}
        for part in ("estimate", "measure"):
            command = [sys.executable, "-m", "performance.training_memory", "--work", str(folder), "--part", part]
            values |= json.loads(subprocess.check_output(command, text=True).splitlines()[-1])
        return Comparison(**values)


def table(rows: list[Comparison]) -> Table:
    """Return a table with the figures of each fit, in MB and seconds."""
    parts = ("weights", "gradients", "optimizer", "activations", "gaps", "base", "total")
    result = Table("fit", *parts, "measured", "ratio", "seconds", "measured", "ratio", "took")
    for row in rows:
        megabytes = [f"{row.estimate[part] / 1e6:,.0f}" for part in parts]
        memory = (f"{row.measured / 1e6:,.0f}", f"{row.estimate['total'] / row.measured:.2f}")
        seconds = (f"{row.estimated_seconds:.1f}", f"{row.measured_seconds:.1f}")
        ratio = f"{row.estimated_seconds / row.measured_seconds:.2f}"
        result.add_row(row.name, *megabytes, *memory, *seconds, ratio, f"{row.estimate_took:.1f}")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"fits: {', '.join(FITS)}")
    parser.add_argument("--out", type=Path, default=Path("build/training_memory.json"))
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.part)
        return
    rows = [compare(name) for name in arguments.names or FITS]
    Console(width=160).print(table(rows))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
