"""The interface of all recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

from lumos_queue.records import FeedbackStep, TrainedModel, TrainingStep

__all__ = ["Recipe", "RunWindow", "TrainedModel", "TrainingStep", "Window", "WindowResult"]

Window = dict[str, Any]  #: the work of one item of the job, as JSON; 'do' names its kind


class Recipe(Protocol):
    """The stored request of a training job, a frozen value. Its JSON has everything that determines the weights."""

    name: str

    @property
    def folder(self) -> str:
        """The folder that the recipe writes to."""
        ...

    @property
    def device(self) -> str:
        """The device for which workers get the job: 'cpu' or 'cuda'."""
        ...

    def as_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self: ...

    def windows(self) -> list[Window]:
        """Return the work of each item of the job, in order: the preparation, the optimizer steps, the export."""
        ...


class PluginRecipe(Recipe, Protocol):
    """A recipe of a plug-in. Its name is the name of its entry point, and its `run_item` does its work."""

    def run_item(self, window: Window) -> WindowResult | dict[str, Any]:
        """Carry out one item of the job and return its result. This runs in its own process (RunWindow)."""
        ...


@dataclass(frozen=True, slots=True)
class WindowResult:
    """The result of one item of a training job."""

    output: dict[str, Any]  #: the facts for the report, as JSON
    steps: tuple[TrainingStep, ...] = ()
    models: tuple[TrainedModel, ...] = ()
    pause: str = ""  #: why the job should pause after this (accepted) item
    feedback: tuple[FeedbackStep, ...] = ()  #: the rewards that the steps learnt from, if any

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> WindowResult:
        """Return the result whose `as_json` is `value`. Raises KeyError or TypeError for other values."""
        steps = tuple(TrainingStep(**step) for step in value["steps"])
        feedback = tuple(FeedbackStep(**step) for step in value["feedback"])
        models = tuple(TrainedModel(**{**model, "builds": tuple(model["builds"])}) for model in value["models"])
        return cls(value["output"], steps, models, value["pause"], feedback)


#: The work of a recipe: carries out one item, and reports its progress to a `Reporter` (engine/progress.py).
#: A dictionary is the output of a result without other fields.
RunWindow = Callable[[Any, Window, Any], "WindowResult | dict[str, Any]"]
