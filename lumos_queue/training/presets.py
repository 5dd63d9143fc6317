"""Three ways to fit a model, by name. Each value can be given otherwise on the command line."""

from __future__ import annotations

from lumos_queue.training.engine.spec import MUON, FitSpec, LoraShape

PAPER, LORA, SCRATCH = "paper", "lora", "scratch"

PRESETS: dict[str, FitSpec] = {
    #: As LUMOS fits Llama-2: all weights (spec 3.6).
    PAPER: FitSpec(),
    #: Adapters of the size that LUMOS's scripts have as flags; Tülu's rate, as adapters learn slowly at 2e-5.
    LORA: FitSpec(lora=LoraShape(), rate=1e-4),
    #: A small Llama, from random weights or from those of one that was fitted so.
    SCRATCH: FitSpec(
        epochs=10.0,
        batch=16,
        micro_batch=16,
        optimizer=MUON,
        rate=0.02,
        other_rate=0.004,
        weight_decay=0.05,
        warm_up=0.02,
        decay=0.6,
        dropout=0.05,
        prompt_weight=0.1,
    ),
}
#: Optimizer steps between checkpoints.
WINDOWS = {PAPER: 100, LORA: 100, SCRATCH: 250}
#: Learning rate of `scratch` where the weights are those of such a model already.
CONTINUED_RATE = 0.005
