"""The recipe of the models that come with the project: from the original files of four benchmarks to two models."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.training.recipes.base import Window
from lumos_queue.util.launch_folder import from_launch

SOURCES = ("gsm8k", "mawps", "asdiv", "svamp")
STEPS = 6500


@dataclass(frozen=True, slots=True)
class Starter:
    """Prepare the conversations, fit the iterative model, go on from it to the one-pass model, export both."""

    data: str  #: folder with the original files of gsm8k, mawps, asdiv and svamp
    folder: str  #: for conversations, checkpoints and the models; every worker must see it
    steps: int = STEPS  #: optimizer steps of the iterative fit
    one_pass_steps: int = 1500  #: optimizer steps of the one-pass fit
    window: int = 250  #: optimizer steps of one item
    generated: int = 40_000  #: wordmath problems to generate

    name = "starter"

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def windows(self) -> list[Window]:
        plan: list[Window] = [{"do": "prepare"}]
        for fit, steps in (("iterative", self.steps), ("one-pass", self.one_pass_steps)):
            for start in range(0, steps, self.window):
                plan.append({"do": "fit", "fit": fit, "start": start, "stop": min(start + self.window, steps)})
        return [*plan, {"do": "export"}]

    def do(self, window: Window) -> dict[str, Any]:
        from lumos_queue.training.sources import Sources
        from lumos_queue.training.starter import prepare, specs
        from lumos_queue.training.window import export_checkpoint, run_window

        folder = from_launch(self.folder)
        if window["do"] == "prepare":
            return {"counts": prepare(Sources(from_launch(self.data), self.generated), folder)}
        fits = specs(folder, self.steps, self.one_pass_steps)
        if window["do"] == "fit":
            return run_window(fits[window["fit"]], folder / window["fit"], window["start"], window["stop"])
        return {
            name: str(export_checkpoint(spec, folder / name / f"step-{spec.steps:06d}", folder / "export" / name))
            for name, spec in fits.items()
        }


def starter(data: Path, folder: Path, **numbers: int) -> Starter:
    """The recipe as a person asks for it; `numbers` are the fields of Starter. Raises SpecError for missing data."""
    for name in SOURCES:
        if not (data / name).is_dir():
            raise SpecError(f"--data '{data}' has no folder '{name}': the recipe reads {', '.join(SOURCES)}.")
    return Starter(str(data.resolve()), str(folder.resolve()), **numbers)
