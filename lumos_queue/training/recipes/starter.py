"""Train the models that come with the project, from the original files of four benchmarks.

One model is an adapter of a base model, for `iterative`. For machines without the base model, there are two small
models, for `iterative` and `one-pass`, which start from random weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.model_folder import identity
from lumos_queue.errors import SpecError
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.training.base_check import check_base
from lumos_queue.training.engine.control import FitControl
from lumos_queue.training.engine.spec import BF16, FP32, FitSpec, LoraShape
from lumos_queue.training.presets import LORA, PRESETS, SCRATCH
from lumos_queue.training.recipes.base import Window
from lumos_queue.util.launch_folder import from_launch

SOURCES = ("gsm8k", "mawps", "asdiv", "svamp")
#: The fits: the adapter, and a small model for each of two formulations, whose name it has.
ADAPTER, ITERATIVE, ONE_PASS = "adapter", "iterative", "one-pass"
#: The formulation that each fit is for.
FORMULATIONS = {ADAPTER: USUAL, ITERATIVE: ITERATIVE, ONE_PASS: ONE_PASS}


@dataclass(frozen=True, slots=True)
class Starter:
    """The recipe. Its items are the preparation, the windows of each fit and the export."""

    data: str  #: folder with the original files of gsm8k, mawps, asdiv and svamp
    folder: str  #: of conversations, checkpoints and the models; every worker must be able to read it
    base: str = ""  #: model folder of the adapter; '' = no adapter
    content: str = ""  #: digest of the base
    fits: tuple[str, ...] = (ITERATIVE, ONE_PASS)  #: names of the fits, in order
    adapter_steps: int = 800  #: optimizer steps of the adapter, 16 conversations each
    steps: int = 6500  #: of the small iterative model
    one_pass_steps: int = 1500  #: of the small one-pass model, which starts from the iterative one
    window: int = 0  #: optimizer steps of one item; 0: 50 of the adapter, 250 of the small models
    tokens: int = 1_400_000  #: of the adapter's conversations, at most; the small models get eight times as many
    generated: int = 40_000  #: wordmath problems to choose from
    seed: int = 7
    precision: str = BF16  #: the default is that of jobs stored without a precision
    control: FitControl = field(default_factory=FitControl)

    name = "starter"
    device = "cpu"

    def as_json(self) -> dict[str, Any]:
        values = asdict(self) | {"fits": list(self.fits), "control": self.control.as_json()}
        if not values["control"]:
            del values["control"]
        if self.precision == BF16:
            del values["precision"]
        return values

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Starter:
        control = FitControl.from_json(value.get("control", {}))
        return cls(**{**value, "fits": tuple(value["fits"]), "control": control})

    def windows(self) -> list[Window]:
        plan: list[Window] = [{"do": "prepare"}]
        for fit in self.fits:
            steps, window = self.specs()[fit].steps, self.window_of(fit)
            for start in range(0, steps, window):
                plan.append({"do": "fit", "fit": fit, "start": start, "stop": min(start + window, steps)})
        return [*plan, {"do": "export"}]

    def window_of(self, fit: str) -> int:
        """Return the number of optimizer steps of one item of a fit."""
        return self.window or (50 if fit == ADAPTER else 250)

    def specs(self) -> dict[str, FitSpec]:
        """Return the specification of each fit by name, with the paths of folders on this machine."""
        folder = from_launch(self.folder)
        adapter = replace(
            PRESETS[LORA],
            precision=self.precision,
            base=str(from_launch(self.base)),
            lora=LoraShape(rank=16, alpha=32, dropout=0.05),
            steps=self.adapter_steps,
            batch=16,
            micro_batch=8,
            rate=7e-4,
            content=self.content,
        )
        small = replace(PRESETS[SCRATCH], precision=self.precision, steps=self.steps, warm_up=0.015)
        one_pass = replace(
            small,
            steps=self.one_pass_steps,
            base=str(folder / "export" / ITERATIVE),
            rate=0.01,
            other_rate=0.002,
            decay=1.0,
            content=f"after {small.digest}",
        )
        specs = {ADAPTER: adapter, ITERATIVE: small, ONE_PASS: one_pass}
        return {
            name: replace(
                spec, seed=self.seed, data=str(folder / name / "encoded"), tokenizer=str(folder / name / "tokenizer")
            )
            for name, spec in specs.items()
            if name in self.fits
        }


def starter(data: Path, folder: Path, base: Path | None, **values: Any) -> Starter:
    """Return the recipe of a request; `values` are fields of Starter. Raises SpecError for missing data.

    The precision is float32 unless `values` names another.
    """
    for name in SOURCES:
        if not (data / name).is_dir():
            raise SpecError(
                f"--data '{data}' has no folder '{name}': the recipe reads {', '.join(SOURCES)}. "
                f"Get it with: lumos data get {name}"
            )
    values = {"precision": FP32, **values}
    if base is None:
        return Starter(str(data.resolve()), str(folder.resolve()), **values)
    check_base(base)
    content = identity(base)["sha256"]
    fits = (ADAPTER, ITERATIVE, ONE_PASS)
    return Starter(str(data.resolve()), str(folder.resolve()), str(base.resolve()), content, **{"fits": fits, **values})
