"""Presets of learning from feedback, by name. OpenAGI's paper has the presets of its three planners.

See arXiv:2304.04370, table A.5.
"""

from __future__ import annotations

from dataclasses import dataclass

from lumos_queue.training.engine.spec import LoraShape
from lumos_queue.training.recipes.rltf import RltfSpec


@dataclass(frozen=True, slots=True)
class RltfPreset:
    """The settings of a fit, and the number of beams of its rollouts, which is also their number of candidates."""

    spec: RltfSpec
    beams: int = 5


_T5 = LoraShape(rank=8, alpha=16, dropout=0.05, targets=("q", "v"))
_LLAMA = LoraShape(rank=8, alpha=16, dropout=0.05, targets=("q_proj", "v_proj"))
PRESETS: dict[str, RltfPreset] = {
    #: A model of well under a million parameters: `lumos train sft --preset planner` makes one to start from.
    "planner": RltfPreset(RltfSpec(epochs=20, batch=55, rate=7e-4, weight_decay=0.0)),
    "flan-t5-large": RltfPreset(RltfSpec(rate=1e-5, batch=5, warm_up=0.1, lora=_T5), beams=30),
    "vicuna-7b": RltfPreset(RltfSpec(rate=5e-6, batch=1, warm_up=0.0, lora=_LLAMA), beams=20),
    "llama-2-13b": RltfPreset(RltfSpec(rate=1e-5, batch=1, warm_up=0.0, lora=_LLAMA), beams=20),
}
DEFAULT = "planner"
