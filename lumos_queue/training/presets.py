"""Ways to fit a model, by name. Each value can be given otherwise on the command line."""

from __future__ import annotations

from lumos_queue.training.engine.spec import FP32, MUON, FitSpec, LoraShape, ModelShape

PAPER, LORA, SCRATCH, PLANNER = "paper", "lora", "scratch", "planner"

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
    #: A Llama of 0.34 million parameters that learns the plans of a few tasks by heart: each name of an expert is one
    #: token. AdamW is three times as fast, and right in a quarter as many of the tasks that it was not shown.
    PLANNER: FitSpec(
        shape=ModelShape(hidden=96, layers=3, heads=3, feed_forward=224, positions=256),
        epochs=200.0,
        batch=20,
        micro_batch=20,
        max_length=256,
        optimizer=MUON,
        rate=0.02,
        other_rate=0.004,
        weight_decay=0.05,
        warm_up=0.05,
        decay=0.6,
        dropout=0.1,
        precision=FP32,  # of so small matrices, products of bfloat16 take three times as long on a CPU
    ),
}
SMALL = (SCRATCH, PLANNER)  #: for models whose matrices do not gain from a second core
#: Optimizer steps between checkpoints.
WINDOWS = {PAPER: 100, LORA: 100, SCRATCH: 250, PLANNER: 200}
#: Learning rate of the small models where the weights are those of such a model already.
CONTINUED_RATE = 0.005
