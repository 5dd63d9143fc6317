"""The keyword arguments of functions that make requests, for type checkers.

`make docs-reference` writes this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from lumos_queue.api.argument_types import Model, Values
from lumos_queue.formulations.base import Formulation


class InferenceArguments(TypedDict, total=False):
    """The options of `evaluate` and `infer`, as docs/commands.md describes them."""

    data: str | Path | None
    split: str
    formulation: str | Formulation
    agent: str
    planner: Model
    grounder: Model
    solver: Model
    limit: int
    samples: int
    seed: int
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    max_subgoals: int
    framing: str
    skip_bad_rows: bool
    published: bool
    scorer: str
    domain: str
    licence: str
    title: str
    rubric: str | Path | None
    grades: int
    votes: int
    roles: Mapping[str, Model] | None
    tools: Values | None
    shots: int | None
    answer_by: str
    live: bool
    replay: str
    draw: int
    sets: int
    at_limit: str
    reader: str
    settings: Values | None
    samplings: Values | None
    yes: bool
    stop: str | Sequence[str] | None
    system: str | None
    prompt: str | Path | None
    request: Values | None
    price_prompt: float
    price_completion: float
    budget: float


class ConversionArguments(TypedDict, total=False):
    """The options of `convert`, as docs/commands.md describes them."""

    data: str | Path | None
    split: str
    limit: int
    subgoals: str
    reasks: int
    scorer: str
    domain: str
    licence: str
    title: str
    vision: str
    seed: int
    samples: int
    temperature: float | None
    max_tokens: int
    price_prompt: float
    price_completion: float
    budget: float
    perturbations: int
    longest: int
    tokenizer: str | Path | None
    skip_bad_rows: bool
    published: bool
