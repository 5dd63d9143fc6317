"""The values of the papers' tables: a row for each published figure, with the figure of a stored job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lumos_queue.reports.json_values import OPTIONAL
from lumos_queue.reports.score_values import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationFigure:
    """The figure of an evaluation: a score in per cent, or the seconds of 100 items."""

    job: str
    value: float
    ci95: Range | None = field(default=None, metadata=OPTIONAL)  #: None for seconds
    n: str  #: tasks
    of: int | None = field(default=None, metadata=OPTIONAL)  #: trials; None for seconds
    rows: str  #: their origin
    tools: Mapping[str, str]
    models: Mapping[str, str]  #: by role


@dataclass(frozen=True, slots=True)
class PassCosts:
    """What all runs of a tool agent used, and how many passed."""

    passed: float  #: a tie counts 1/2
    model_calls: int
    tokens: int
    tool_calls: int

    def __add__(self, other: PassCosts) -> PassCosts:
        return PassCosts(
            self.passed + other.passed,
            self.model_calls + other.model_calls,
            self.tokens + other.tokens,
            self.tool_calls + other.tool_calls,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFigure:
    """The share of runs of a tool agent that pass or win, in per cent. A mean has no `of`, `rows`, `runs`, `tools`."""

    value: float
    ci95: Range
    n: str  #: tasks
    of: int | None = field(default=None, metadata=OPTIONAL)  #: trials
    rows: str | None = field(default=None, metadata=OPTIONAL)  #: the origin of the rows
    job: str  #: of the judge; for a mean, all of them
    runs: str | None = field(default=None, metadata=OPTIONAL)  #: the job that is judged
    tools: Mapping[str, str] | None = field(default=None, metadata=OPTIONAL)
    models: Mapping[str, str]  #: by role
    rule: str | None = field(default=None, metadata=OPTIONAL)  #: by which it was counted, where rules differ
    against: str | None = field(default=None, metadata=OPTIONAL)  #: the job that it is compared with
    spent: PassCosts | None = field(default=None, metadata=OPTIONAL)  #: of an evaluation that is complete


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertFigure:
    """The figure of an evaluation with experts: a score from 0 to 1, or a share of a case's tasks in per cent."""

    value: float
    ci95: Range
    n: str
    digits: int | None = field(default=None, metadata=OPTIONAL)  #: decimal places of a score; None for a share
    job: str
    rows: str  #: their origin
    tools: Mapping[str, str]
    models: Mapping[str, str]  #: by role


@dataclass(frozen=True, slots=True)
class SourceYield:
    """What the conversions of a source left."""

    job: str  #: the jobs
    n: str  #: rows
    value: int  #: annotations that are accepted for both modules
    plan: int  #: annotations of the planner
    ground: int  #: annotations of the grounder
    turns: float | None  #: of the planner, on average; None without annotations
    how: str


@dataclass(frozen=True, slots=True)
class DomainYield:
    """What the conversions of all sources of a domain left."""

    n: str  #: rows
    plan: int  #: annotations of the planner
    ground: int  #: annotations of the grounder


@dataclass(frozen=True, slots=True)
class OfferedAction:
    """An action of this project."""

    value: str  #: its name
    does: str


OwnFigure = EvaluationFigure | JudgedFigure | ExpertFigure | SourceYield | DomainYield | OfferedAction


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A published figure beside the figure of a stored job. Fields that a table does not have are None."""

    row: str
    handle: str | None = field(default=None, metadata=OPTIONAL)  #: TABLE/ROW of a row that can be run
    benchmark: str | None = field(default=None, metadata=OPTIONAL)
    split: str | None = field(default=None, metadata=OPTIONAL)  #: of tool agents: the subset, or the mean
    metric: str | None = field(default=None, metadata=OPTIONAL)
    column: str
    published: str
    value: float | None = field(default=None, metadata=OPTIONAL)  #: the number in `published`
    trained_on: bool | None = field(default=None, metadata=OPTIONAL)  #: whether it was trained on the benchmark
    source: str  #: the paper
    published_n: str | None = field(default=None, metadata=OPTIONAL)
    note: str | None = field(default=None, metadata=OPTIONAL)
    ours: OwnFigure | None = field(default=None, metadata=OPTIONAL)
    status: str = ""
    commands: Sequence[str] | None = field(default=None, metadata=OPTIONAL)  #: that run it


@dataclass(frozen=True, slots=True)
class PaperTableRows:
    """A table of a paper."""

    table: str  #: its key
    title: str
    rows: Sequence[TableRow]
