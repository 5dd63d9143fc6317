"""The specification of a fit: everything that determines the weights, except the content of the files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lumos_queue.commands import digest

ADAMW, MUON = "adamw", "muon"
BF16, FP32 = "bf16", "fp32"


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The shape of a Llama with tied embeddings and random weights."""

    hidden: int = 192
    layers: int = 4
    heads: int = 3
    feed_forward: int = 512
    positions: int = 1024  #: longest conversation, in tokens


@dataclass(frozen=True, slots=True)
class LoraShape:
    """The settings of low-rank adapters for projections of each layer (Hu et al., 2021)."""

    rank: int = 64
    alpha: int = 16
    dropout: float = 0.1
    targets: tuple[str, ...] = ()  #: projections with an adapter, such as 'q_proj'; (): all of the architecture


@dataclass(frozen=True, slots=True)
class FitSpec:
    """The settings of a fit. The defaults are those of LUMOS (spec 3.6)."""

    data: str = ""  #: folder of the encoded conversations (data.py)
    tokenizer: str = ""  #: folder
    base: str = ""  #: model folder that the fit starts from; '' = random weights of `shape`
    content: str = ""  #: digest of the files' content
    shape: ModelShape = field(default_factory=ModelShape)
    lora: LoraShape | None = None  #: None: all weights are trained
    epochs: float = 2.0
    steps: int = 0  #: optimizer steps; 0: the steps of the epochs
    batch: int = 128  #: conversations of one optimizer step, over all ranks
    micro_batch: int = 8  #: conversations of one forward pass
    max_length: int = 1024  #: tokens of a conversation; the rest is cut off
    optimizer: str = ADAMW  #: or 'muon': Muon on the matrices of the layers, AdamW on the rest
    rate: float = 2e-5  #: peak learning rate; with Muon, of the matrices
    other_rate: float = 0.0  #: with Muon: of embeddings and norms
    weight_decay: float = 0.0
    warm_up: float = 0.03  #: the first part of the steps, in which the rate rises linearly
    decay: float = 1.0  #: the last part of the steps, in which the rate falls linearly to 0
    dropout: float = 0.0  #: of the outputs of attention and feed-forward blocks
    prompt_weight: float = 0.0  #: weight of the loss on the prompts; 0: assistant tokens only, as LUMOS
    precision: str = BF16  #: of matrix products; weights and optimizer states of trained weights are float32
    gradient_checkpointing: bool = False
    device: str = "cpu"
    threads: int = 1  #: of each rank on a CPU; another number of threads may round differently
    seed: int = 0

    def as_json(self) -> dict[str, Any]:
        values = asdict(self)
        if self.lora and not self.lora.targets:  # keeps the digest of fits that were stored without targets
            del values["lora"]["targets"]
        return values

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FitSpec:
        lora = value["lora"]
        lora = lora and LoraShape(**{**lora, "targets": tuple(lora.get("targets", ()))})
        return cls(**{**value, "shape": ModelShape(**value["shape"]), "lora": lora})

    @property
    def digest(self) -> str:
        """Return the digest that identifies the weights at each step. It does not depend on the folders."""
        values = {name: value for name, value in self.as_json().items() if name not in ("data", "tokenizer", "base")}
        return digest("fit", json.dumps(values, sort_keys=True))

    def steps_of(self, conversations: int) -> int:
        """Return the number of optimizer steps. The last step of an epoch may have fewer conversations."""
        return self.steps or max(1, round(self.epochs * -(-conversations // self.batch)))

    def warm_up_steps(self, steps: int) -> int:
        return round(self.warm_up * steps)
