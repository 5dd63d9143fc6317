"""Presets of a fit, by name. Options of the command line override the values of a preset."""

from __future__ import annotations

from dataclasses import replace

from lumos_queue.training.engine.spec import FP32, MUON, FitSpec, LoraShape, ModelShape

PAPER, LORA, SCRATCH, PLANNER, TOOLS = "paper", "lora", "scratch", "planner", "tools"
FLAN_T5, VICUNA, LLAMA_2 = "flan-t5-large", "vicuna-7b", "llama-2-13b"

PRESETS: dict[str, FitSpec] = {
    #: As LUMOS fits Llama-2: all weights (spec 3.6).
    PAPER: FitSpec(),
    #: Adapters of the size that LUMOS's scripts have as flags; Tülu's rate, as adapters learn slowly at 2e-5.
    LORA: FitSpec(lora=LoraShape(), rate=1e-4),
    #: A small Llama, from random weights or from the weights of an earlier fit with this preset.
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
    #: token. With AdamW it plans only about a third as many of the tasks that it was not trained on.
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
        precision=FP32,  # products of such small matrices take three times as long in bfloat16
    ),
}
#: A Llama of 1.1 million parameters for the decisions of tool agents, which mostly copy from the prompt. It also learns
#: copying from the prompts, because their documents repeat their names.
PRESETS[TOOLS] = replace(
    PRESETS[SCRATCH],
    shape=ModelShape(hidden=128, layers=4, heads=4, feed_forward=384, positions=512),
    epochs=2.0,
    max_length=512,
    dropout=0.0,
    precision=FP32,
)
#: OpenAGI's fine-tuning of its three planners (arXiv:2304.04370, table A.5). The paper names no projections for T5: the
#: preset has the defaults of peft, which correspond to those of LLaMA.
PRESETS |= {
    name: FitSpec(
        lora=LoraShape(rank=8, alpha=16, dropout=0.05, targets=targets),
        epochs=200.0,
        batch=batch,
        micro_batch=batch,
        rate=rate,
        weight_decay=1e-6,
        warm_up=warm_up,
    )
    for name, batch, rate, warm_up, targets in (
        (FLAN_T5, 8, 1e-5, 0.1, ("q", "v")),
        (VICUNA, 1, 5e-6, 0.0, ("q_proj", "v_proj")),
        (LLAMA_2, 1, 1e-5, 0.0, ("q_proj", "v_proj")),
    )
}
SMALL = (SCRATCH, PLANNER, TOOLS)  #: for models whose matrices do not gain from a second core
#: Optimizer steps between checkpoints.
WINDOWS = {PAPER: 100, LORA: 100, SCRATCH: 250, PLANNER: 200, TOOLS: 250, FLAN_T5: 200, VICUNA: 500, LLAMA_2: 500}
#: Learning rate of a small model that starts from the weights of such a model.
CONTINUED_RATE = 0.005
