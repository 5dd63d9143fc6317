"""The unchecked options of an evaluation or an inference, as a person gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lumos_queue.benchmarks.from_file.definition import FileDefinition
from lumos_queue.formulations.base import VERSION


@dataclass(frozen=True, slots=True)
class InferenceOptions:
    """The options of `lumos evaluate` and `lumos infer`."""

    benchmark: str
    data: Path | None
    split: str  #: '': the default
    formulation: str  #: '': the default
    agent: str
    planner: str
    grounder: str
    solver: str
    limit: int
    samples: int
    seed: int
    temperature: float
    top_p: float
    max_tokens: int
    max_subgoals: int
    framing: str
    skip_bad_rows: bool
    roles: Sequence[str] = ()  #: NAME=URL
    tools: Sequence[str] = ()  #: NAME=VALUE
    options: Sequence[str] = ()  #: NAME=VALUE
    shots: int | None = None
    answer_by: str = ""
    live: bool = False
    replay: str = ""
    draw: int = 0
    sets: int = 0  #: 0: not given
    at_limit: str = ""
    settings: Sequence[str] = ()  #: NAME=VALUE
    samplings: Sequence[str] = ()  #: ROLE.NAME=VALUE
    yes: bool = False
    overrides: frozenset[str] = frozenset()  #: of temperature, top_p, max_tokens: those given, not just their defaults
    stop: Sequence[str] | None = None  #: stop strings; [] or ['']: none; None: not given
    system: str | None = None  #: the text of the system message; '': none; None: not given
    prompt: str = ""  #: the text of the template; '': none
    requests: Sequence[str] = ()  #: [ROLE.]NAME=JSON
    formulation_version: int = VERSION  #: of stored jobs that are run again
    reader: str = ""  #: '': the default
    budget: float = 0.0  #: USD; 0: no limit
    price_prompt: float = 0.0  #: USD for a million tokens, of every model
    price_completion: float = 0.0  #: USD for a million tokens, of every model
    definition: FileDefinition | None = None  #: of the benchmark, where `data` is a person's own file
    published: bool = False  #: whether the person states that the rows are the published ones
