"""The plan of a sweep, read from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, InstanceOf, PlainValidator, ValidationError, model_validator

from lumos_queue.errors import SpecError
from lumos_queue.submission.requests.conversion import ConversionRequest
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.option import MAX_INTEGER
from lumos_queue.submission.requests.reading import read_table
from lumos_queue.submission.requests.training import SftRequest
from lumos_queue.util.regular_file import read_regular_text

R = TypeVar("R")
MAX_TOKENS = 128  #: default of a benchmark
NAME = "name"  #: key of a benchmark's name
Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$")]
JOINT, SEPARATE = "joint", "separate"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _read_fit(table: Any) -> SftRequest:
    """Return the request of all fits, without what differs between them. Raises ValueError."""
    return table if isinstance(table, SftRequest) else _read(SftRequest, table, start="scratch", device="cpu")


def _read(request_class: type[R], table: Any, **defaults: str | bool | int) -> R:
    """Return the request of a table. Raises ValueError, to which pydantic adds the table's name."""
    if not isinstance(table, Mapping):
        raise ValueError("expected a table")
    try:
        return read_table(request_class, table, defaults)
    except SpecError as error:
        raise ValueError(str(error)) from None


class AnnotationSource(_Table):
    """A source of episodes to train on: converted gold rationales, or episodes of an agent with right answers."""

    convert: str = ""  #: source of conversion by rule
    evaluate: str = ""  #: or the benchmark that an agent is evaluated on
    agent: str = "starter-scratch"  #: with `evaluate`
    request: InstanceOf[ConversionRequest]  #: all other keys; with `evaluate` only those of its rows

    @model_validator(mode="before")
    @classmethod
    def _split_options(cls, table: Any) -> Any:
        """Read all keys that are no fields as the request. Raises ValueError."""
        if not isinstance(table, Mapping):
            return table
        own = {key: value for key, value in table.items() if key in ("convert", "evaluate", "agent")}
        rest = {key: value for key, value in table.items() if key not in own}
        defaults = {"deterministic": True, "split": "train", "perturbations": 0}
        return own | {"request": _read(ConversionRequest, rest, **defaults)}

    @model_validator(mode="after")
    def _one_kind(self) -> AnnotationSource:
        if bool(self.convert) == bool(self.evaluate):
            raise ValueError("give either convert = SOURCE or evaluate = BENCHMARK")
        return self


def read_benchmark(table: Any) -> InferenceRequest:
    """Return the request of a table `[[benchmarks]]`, whose `name` is the benchmark. Paths are below --data.

    Raises SpecError for an unknown field and for a value that a request cannot have.
    """
    if isinstance(table, InferenceRequest):
        return table
    if not isinstance(table, Mapping) or not table.get(NAME):
        raise SpecError(f"A benchmark is {table!r:.80}: expected a table with {NAME}.")
    fields = {name: value for name, value in table.items() if name != NAME}
    defaults = {"benchmark": table[NAME], "split": "test", "max_tokens": MAX_TOKENS}
    return read_table(InferenceRequest, fields, defaults)


def label_of(benchmark: InferenceRequest) -> str:
    """Return the label of a benchmark of the sweep."""
    first = f", first {benchmark.limit}" if benchmark.limit else ""
    return f"{benchmark.benchmark} {benchmark.split}{first}"


class Arm(_Table):
    """A row of the sweep's table: the annotation source, the formulation and the modules of its models."""

    annotation: str
    formulation: str
    modules: str


class SweepPlan(_Table):
    """A sweep. Each combination of an annotation source, a formulation, modules and a seed is a fit."""

    title: str
    seeds: Annotated[list[Count], Field(min_length=1)]
    formulations: Annotated[list[str], Field(min_length=1)]
    modules: list[Literal["joint", "separate"]] = [JOINT]
    rows: Count = 0  #: of each annotation source; 0: all that it has
    annotations: Annotated[dict[Name, AnnotationSource], Field(min_length=1)]
    fit: Annotated[SftRequest, PlainValidator(_read_fit)] = _read_fit({})
    benchmarks: Annotated[list[Annotated[InferenceRequest, PlainValidator(read_benchmark)]], Field(min_length=1)]
    order: list[str] = []  #: labels of arms, from the lowest to the highest expected score
    order_from: str = ""  #: the source of the expected order

    @model_validator(mode="after")
    def _check_order(self) -> SweepPlan:
        labels = [self.label(arm) for arm in self.arms()]
        for name in self.order:
            if name not in labels:
                raise ValueError(f"order has '{name}', expected some of: {', '.join(labels)}")
        return self

    def arms(self) -> Iterator[Arm]:
        for annotation, formulation, modules in product(self.annotations, self.formulations, self.modules):
            yield Arm(annotation=annotation, formulation=formulation, modules=modules)

    def label(self, arm: Arm) -> str:
        """Return the label of an arm, which has the values that differ between the arms of the sweep."""
        dimensions = (
            (arm.annotation, self.annotations),
            (arm.formulation, self.formulations),
            (arm.modules, self.modules),
        )
        return ", ".join(name for name, choices in dimensions if len(choices) > 1) or arm.formulation


def read_plan(path: Path) -> SweepPlan:
    """Read a plan from a TOML file. Raises SpecError, which names the first wrong part."""
    try:
        return SweepPlan.model_validate(tomllib.loads(read_regular_text(path)))
    except OSError as error:
        raise SpecError(f"'{path}' cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise SpecError(f"'{path}' is not a sweep: it is nested too deeply. See examples/sweeps.") from None
    except SpecError as error:
        raise SpecError(f"'{path}' is not a sweep: {error} See examples/sweeps.") from None
    except ValueError as error:
        raise SpecError(f"'{path}' is not a sweep: {first_problem(error)}. See examples/sweeps.") from None


def first_problem(error: ValueError) -> str:
    """Return the first problem of an error, as text. It may be a validation error of pydantic."""
    if not isinstance(error, ValidationError):  # no TOML, or no UTF-8
        return str(error)
    first: Any = error.errors()[0]
    path = ".".join(map(str, first["loc"]))
    return f"{path}: {first['msg']}" if path else first["msg"]
