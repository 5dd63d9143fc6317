"""RLTF (reinforcement learning from task feedback): a planner learns from the rewards of its executed plans.

The algorithm is REINFORCE with a moving-average baseline (Ge et al. 2023, arXiv:2304.04370). One item of the job is one
optimizer step. A step learns from the rollouts of a batch of tasks; they are an ordinary evaluation of the newest
checkpoint (jobs/rollouts.py). The recipe works for any formulation and any score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from lumos_queue.commands import digest
from lumos_queue.endpoints.model_folder import identity
from lumos_queue.errors import SpecError
from lumos_queue.training.base_check import check_base
from lumos_queue.training.engine.checkpoints import read_seal
from lumos_queue.training.engine.control import DEFAULTS, FitControl
from lumos_queue.training.engine.spec import LoraShape
from lumos_queue.training.recipes.base import Window
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.regular_file import read_regular_text

REQUEST = "rltf.json"  #: in the output folder: the recipe of its checkpoints
RELEASED = "released"
STEPS = "steps"  #: in the output folder: the checkpoints, each a model folder that `local:` serves


@dataclass(frozen=True, slots=True)
class RltfSpec:
    """The settings that determine the weights, together with start, tasks and rollouts. Table A.5 has the defaults."""

    epochs: int = 10  #: passes over the tasks
    batch: int = 5  #: tasks of one optimizer step
    samples: int = 1  #: rollouts of each task
    rate: float = 1e-5  #: peak learning rate; it falls linearly to 0
    weight_decay: float = 1e-6
    warm_up: float = 0.1  #: the first part of the steps, in which the rate rises linearly
    clip: float = 1.0  #: largest norm of the gradient; the released update has no limit
    epsilon: float = 0.2  #: probability of sampling a plan from the softmax of the beams; 0 where all plans are sampled
    epsilon_decay: float = 0.9  #: factor of epsilon at each step
    momentum: float = 0.9  #: weight of the old baseline in the new one
    #: Whether the moving average of earlier rewards is subtracted from rewards. RELEASED: the update of the released
    #: code, which subtracts nothing.
    baseline: bool | str = True
    infeasible: float = -1.0  #: reward of a plan that cannot run; its score is 0
    shuffle: bool = False  #: whether rewards are shuffled within each step: a control experiment that must not learn
    lora: LoraShape | None = None  #: None: all weights are trained
    device: str = "cpu"
    threads: int = 1  #: on a CPU; another number of threads may round differently
    seed: int = 0

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RltfSpec:
        lora = value["lora"]
        return cls(**{**value, "lora": lora and LoraShape(**{**lora, "targets": tuple(lora["targets"])})})

    @property
    def is_released(self) -> bool:
        """Whether a step is that of the released code.

        The weight of log P is then the mean of the epoch's rewards so far, with that of the step itself; a step learns
        from one plan, the end token of a reply is not in log P, and the norm of the gradient is not limited.
        """
        return self.baseline == RELEASED

    def epsilon_at(self, step: int) -> float:
        """Return epsilon for the rollouts of a step. Steps are counted from 1."""
        return self.epsilon * self.epsilon_decay ** (step - 1)

    def rate_at(self, step: int, steps: int) -> float:
        """Return the learning rate of step `step` of `steps`, as in transformers' linear schedule with warm-up."""
        before, warm_up = step - 1, round(self.warm_up * steps)
        if before < warm_up:
            return self.rate * before / warm_up
        return self.rate * (steps - before) / max(1, steps - warm_up)


@dataclass(frozen=True, slots=True)
class Rltf:
    """The recipe. Its items are the preparation, the optimizer steps and the export."""

    start: str  #: model folder
    folder: str  #: for checkpoints and the model; every worker must be able to read it
    content: str  #: digest of the start
    #: The evaluation that makes the rollouts of all tasks (Infer.as_json); the roles of the checkpoint are filled in.
    evaluation: Mapping[str, Any]
    roles: tuple[str, ...]  #: roles that the checkpoint answers, and learns
    rows: tuple[int, ...]  #: positions in the evaluation's dataset of the tasks that have a reward
    reward: str  #: the score that is the reward: a metric, or a name of the benchmark's overall scores
    spec: RltfSpec
    control: FitControl = field(default_factory=FitControl)

    name = "rltf"

    @property
    def device(self) -> str:
        return self.spec.device

    def as_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "control"}
        control = self.control.as_json()
        values |= {"roles": list(self.roles), "rows": list(self.rows), "spec": asdict(self.spec)}
        return values | ({"control": control} if control else {})

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Rltf:
        lists = {"roles": tuple(value["roles"]), "rows": tuple(value["rows"])}
        control = FitControl.from_json(value.get("control", {}))
        return cls(**{**value, **lists, "spec": RltfSpec.from_json(value["spec"]), "control": control})

    @property
    def digest(self) -> str:
        """Return the digest that identifies the weights at each step. It does not depend on the folders."""
        values = {name: field for name, field in self.as_json().items() if name not in ("start", "folder", "control")}
        return digest("rltf", json.dumps(values, sort_keys=True))

    def windows(self) -> list[Window]:
        """Return the items. Every epoch has its own order of the tasks, which depends only on the seed."""
        batches: list[list[int]] = []
        for epoch in range(self.spec.epochs):
            order = list(self.rows)
            Random(f"{self.spec.seed} {epoch}").shuffle(order)
            batches += [order[start : start + self.spec.batch] for start in range(0, len(order), self.spec.batch)]
        updates = [{"do": "update", "step": step, "rows": rows} for step, rows in enumerate(batches, start=1)]
        return [{"do": "prepare"}, *updates, {"do": "export"}]

    @property
    def steps(self) -> int:
        """The total number of optimizer steps."""
        return self.spec.epochs * -(-len(self.rows) // self.spec.batch)

    def checkpoints(self) -> Path:
        return from_launch(self.folder) / STEPS

    def check_seal(self, checkpoint: Path) -> dict[str, Any]:
        """Return the seal of a checkpoint of the fit. Raises SpecError if it is missing, damaged or of another fit."""
        seal = read_seal(checkpoint)
        if seal.get("fit") != self.digest:
            raise SpecError(f"The checkpoint '{checkpoint}' is of another fit: name a new --folder.")
        return seal

    def check_folder(self) -> None:
        """Raise SpecError when the output folder holds anything other than this fit."""
        folder = from_launch(self.folder)
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        try:
            is_own = json.loads(read_regular_text(folder / REQUEST, folder))["digest"] == self.digest
        except (OSError, ValueError, KeyError, TypeError):
            is_own = False
        if not is_own:
            raise SpecError(f"--folder '{folder}' holds something else already: name a new or empty one.")


def rltf(
    start: Path,
    folder: Path,
    evaluation: Mapping[str, Any],
    roles: Sequence[str],
    rows: Sequence[int],
    reward: str,
    spec: RltfSpec,
    control: FitControl = DEFAULTS,
) -> Rltf:
    """Return the recipe of a request. Raises SpecError for a missing or unsuitable model or folder."""
    check_base(start)
    recipe = Rltf(
        start=str(start.resolve()),
        folder=str(folder.resolve()),
        content=content_of(start),
        evaluation=evaluation,
        roles=tuple(roles),
        rows=tuple(rows),
        reward=reward,
        spec=spec,
        control=control,
    )
    recipe.check_folder()
    return recipe


def content_of(start: Path) -> str:
    """Return the digest of the weights and the tokenizer of a model folder."""
    model = identity(start)
    return digest("rltf start", model["sha256"], model["tokenizer_sha256"])
