"""The one shape of all recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

from lumos_queue.records import FeedbackStep, TrainedModel, TrainingStep

__all__ = ["Recipe", "RunWindow", "TrainedModel", "TrainingStep", "Window", "WindowResult"]

Window = dict[str, Any]  #: what one item of the job does, as JSON; 'do' names it


class Recipe(Protocol):
    """A frozen value. Its JSON form is part of the job's, so it says everything that decides the weights."""

    name: str

    @property
    def folder(self) -> str:
        """Where it writes."""
        ...

    @property
    def device(self) -> str:
        """'cpu' or 'cuda': decides which workers get the job."""
        ...

    def as_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self: ...

    def windows(self) -> list[Window]:
        """What each item of the job does, in order: a preparation, stretches of optimizer steps, the export."""
        ...


class PluginRecipe(Recipe, Protocol):
    """A recipe of a plug-in, under the name that its entry point has: it brings its own work."""

    def run_item(self, window: Window) -> WindowResult | dict[str, Any]:
        """Carry out one item, in a process of its own (see RunWindow)."""
        ...


@dataclass(frozen=True, slots=True)
class WindowResult:
    """What carrying out one item gave."""

    output: dict[str, Any]  #: what the report shows of it, as JSON
    steps: tuple[TrainingStep, ...] = ()
    models: tuple[TrainedModel, ...] = ()
    pause: str = ""  #: why the job should pause after this (accepted) item
    feedback: tuple[FeedbackStep, ...] = ()  #: what the steps learnt from, where that was rewards

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> WindowResult:
        """The result whose `as_json` is `value`. Raises KeyError or TypeError for anything else."""
        steps = tuple(TrainingStep(**step) for step in value["steps"])
        feedback = tuple(FeedbackStep(**step) for step in value["feedback"])
        models = tuple(TrainedModel(**{**model, "builds": tuple(model["builds"])}) for model in value["models"])
        return cls(value["output"], steps, models, value["pause"], feedback)


#: The work of a recipe: carries out one item. A dictionary is the output of a result that is nothing else.
RunWindow = Callable[[Any, Window], "WindowResult | dict[str, Any]"]
