"""What a sweep over ToolWorld is, read from a TOML file: which rollouts teach which models, and what these play."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lumos_queue.benchmarks.toolworld.dials import TRAIN, read_dials, seeds_of
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.sweeps.plan import first_problem

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$")]
Values = dict[str, str | int | float]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Play(_Table):
    """A formulation with its settings, in some cells; none named: in all."""

    formulation: str
    settings: Values = {}
    cells: list[str] = []

    @model_validator(mode="after")
    def _check_formulation(self) -> Play:
        if not FORMULATIONS.load(self.formulation).functions:
            raise ValueError(f"the formulation '{self.formulation}' calls no functions")
        return self


class ModelPlan(_Table):
    """One model for all roles of a formulation: the rollouts whose prompts it is taught at, and what it plays."""

    rollouts: Annotated[list[Play], Field(min_length=1)]
    plays: Annotated[dict[Name, Play], Field(min_length=1)]  #: name in the table to what is played


class FitPlan(_Table):
    """As the options of `lumos train sft`: the same for all models."""

    steps: Count
    batch: Count = 16
    max_length: Count = 512
    preset: str = "tools"
    precision: Literal["", "bf16", "fp32"] = ""  #: of matrix products; empty: the preset's


@dataclass(frozen=True, slots=True)
class Rollouts:
    """A job of the noisy policy, on tasks of the training split."""

    model: str
    cell: str
    play: Play


@dataclass(frozen=True, slots=True)
class Fit:
    """A model to be trained."""

    model: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.model}-{self.seed}"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A fit that plays a cell."""

    fit: Fit
    cell: str
    name: str  #: in the table
    play: Play

    @property
    def label(self) -> str:
        return f"{self.cell}, {self.name}, seed {self.fit.seed}"


class ToolWorldSweep(_Table):
    """Every model and seed is one fit; each plays every cell."""

    title: str
    seeds: Annotated[list[Annotated[int, Field(ge=0, le=2**31 - 1)]], Field(min_length=1)]
    split: str = "I2-inst"  #: that is tested
    tasks: Count = 100  #: tested of each cell
    rollout_tasks: Count = 500  #: of the training split, of each cell
    max_tokens: Count = 128  #: of a reply
    observation: Count = 4096  #: characters of an answer that a model is shown
    dials: Values = {}  #: of all cells
    cells: Annotated[dict[Name, Values], Field(min_length=1)]  #: dials beside these
    settings: Values = {}  #: of all formulations: their limits
    fit: FitPlan
    models: Annotated[dict[Name, ModelPlan], Field(min_length=1)]

    @model_validator(mode="after")
    def _possible(self) -> ToolWorldSweep:
        if self.split == TRAIN:
            raise ValueError(f"split: '{TRAIN}' is what models are trained on")
        for cell in self.cells:
            for split in (TRAIN, self.split):
                read_dials(split, self.options(cell))
        for name, model in self.models.items():
            for play in (*model.rollouts, *model.plays.values()):
                if unknown := set(play.cells) - set(self.cells):
                    raise ValueError(f"models.{name}: there is no cell '{min(unknown)}'")
        names = [name for model in self.models.values() for name in model.plays]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"models: '{name}' is what two models play: expected another name in one of them")
        cells_by_model = {
            name: {rollouts.cell for rollouts in self.rollouts() if rollouts.model == name} for name in self.models
        }
        first, *other_names = cells_by_model
        for name in other_names:
            if cells_by_model[name] != cells_by_model[first]:
                raise ValueError(
                    f"models.{name}: its rollouts are of other cells, and so of other tasks, than {first}'s"
                )
        return self

    def options(self, cell: str) -> dict[str, str]:
        """The benchmark's options in a cell."""
        return as_texts({**self.dials, **self.cells[cell]})

    def rollout_options(self, cell: str) -> dict[str, str]:
        """Return the options of its rollouts. Each cell has its own seed, so that no two cells have the same tasks."""
        seed = seeds_of(TRAIN)[list(self.cells).index(cell)]
        return self.options(cell) | {"seed": str(seed)}

    def rollouts(self) -> Iterator[Rollouts]:
        for name, model in self.models.items():
            for play in model.rollouts:
                yield from (Rollouts(name, cell, play) for cell in play.cells or self.cells)

    def fits(self) -> Iterator[Fit]:
        yield from (Fit(name, seed) for name in self.models for seed in self.seeds)

    def evaluations(self) -> Iterator[Evaluation]:
        for fit in self.fits():
            for name, play in self.models[fit.model].plays.items():
                yield from (Evaluation(fit, cell, name, play) for cell in play.cells or self.cells)

    @property
    def token_budget(self) -> int:
        """Tokens of prompts and replies that a fit sees at most."""
        return self.fit.steps * self.fit.batch * self.fit.max_length


def as_texts(values: Mapping[str, str | int | float]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else f"{value:g}" for name, value in values.items()}


def read_sweep(path: Path) -> ToolWorldSweep:
    """Raises SpecError, naming the first part that is wrong."""
    try:
        return ToolWorldSweep.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SpecError(f"'{path}' cannot be read: {error.strerror}.") from None
    except SpecError as error:
        raise SpecError(f"'{path}' is not a sweep of ToolWorld: {error}") from None
    except ValueError as error:
        raise SpecError(
            f"'{path}' is not a sweep of ToolWorld: {first_problem(error)}. See experiments/toolworld/sweep.toml."
        ) from None
