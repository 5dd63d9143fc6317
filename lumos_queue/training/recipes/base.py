"""The one shape of all recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

Window = dict[str, Any]  #: what one item of the job does, as JSON; 'do' names it


class Recipe(Protocol):
    """A frozen value. Its JSON form is part of the job's, so it says everything that decides the weights."""

    name: str

    def as_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self: ...

    def windows(self) -> list[Window]:
        """What each item of the job does, in order: a preparation, stretches of optimizer steps, the export."""
        ...


@dataclass(frozen=True, slots=True)
class TrainingStep:
    """What one optimizer step gave."""

    fit: str  #: name of the fit within the job; '' = the only one
    step: int  #: counts from 1
    loss: float  #: nats per learnt token: the mean over micro-batches
    rate: float  #: learning rate of the first group
    grad_norm: float  #: before clipping
    tokens: int  #: real ones; padding is not counted
    memory: int  #: bytes: of tensors on a GPU at their peak, or of the process


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model folder or an adapter that a job wrote."""

    name: str
    path: str
    kind: str  #: 'full' or 'adapter'
    digest: str  #: of its weights
    bytes: int  #: of its weights
    base: str  #: digest of what the fit started from; '' = random weights
    builds: tuple[str, ...]  #: what it was trained on


@dataclass(frozen=True, slots=True)
class WindowResult:
    """What one item of a training job gave."""

    output: dict[str, Any]  #: what the report shows
    steps: tuple[TrainingStep, ...] = ()
    models: tuple[TrainedModel, ...] = ()
    pause: str = ""  #: why the job should pause after this item


#: The work of a recipe: carries out one item.
RunWindow = Callable[[Any, Window], WindowResult]
