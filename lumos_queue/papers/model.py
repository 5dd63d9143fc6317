"""The rows and columns of the published tables: the figures, and the configurations that reproduce them here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lumos_queue.downloads.catalogue import can_verify
from lumos_queue.records import Role

#: Checkpoints of ai2lumos that hold weights, as (domain, formulation, size).
RELEASED = frozenset(
    {(domain, "iterative", "") for domain in ("maths", "complex_qa", "web_agent", "unified")}
    | {(domain, "iterative", "-13B") for domain in ("complex_qa", "web_agent", "unified", "multimodal")}
    | {("maths", "onetime", ""), ("complex_qa", "onetime", ""), ("maths", "onetime", "-13B")}
)
#: Formulation to its name in the names of checkpoints.
_NAMED = {"iterative": "iterative", "teacher-forced": "iterative", "one-pass": "onetime"}

QUOTED = "quoted from its paper"


@dataclass(frozen=True, slots=True)
class PaperColumn:
    """A benchmark as the papers measured it. `n`: their number of tasks; 0 if they do not state it."""

    key: str
    label: str
    benchmark: str
    split: str
    metric: str
    n: int = 0
    draw: int = 0  #: tasks of a sample set; 0: all tasks
    sets: int = 0  #: sample sets
    max_subgoals: int = 8
    options: Mapping[str, str] = field(default_factory=dict)  #: options of the benchmark's reader
    judge: str = ""  #: the model whose votes the metric counts
    tools: tuple[str, ...] = ()  #: settings of the actions that the benchmark requires
    #: settings of the actions with which the papers' own code agrees, and their values
    tool_options: Mapping[str, str] = field(default_factory=dict)
    data: str = ""  #: the file of the benchmark, if no other row needs it
    note: str = ""

    @property
    def size(self) -> str:
        """The number of tasks as text; empty if the papers do not state it."""
        return f"{self.draw:,} × {self.sets}" if self.draw else f"{self.n:,}" if self.n else ""


@dataclass(frozen=True, slots=True)
class PaperRow:
    """An agent with its published figures. `figures` maps the key of a column to the figure as printed, without `%`.

    In a figure `*` means that the agent was trained on that benchmark's training set, `≈` that it is from a chart.
    """

    name: str
    figures: Mapping[str, str]
    formulation: str = ""  #: formulation of this project; empty for a quoted row
    domain: str = ""  #: in the name of the weights
    size: str = ""  #: '' for 7B or '-13B'
    #: role to the name of weights, if it does not follow from domain, formulation and size
    weights: Mapping[str, str] = field(default_factory=dict)
    tools: Mapping[str, str] = field(default_factory=dict)  #: tool role to the model that the papers used
    source: str = "[P]"  #: [P] ACL version, [P1] arXiv v1, [P3] arXiv v3
    note: str = ""
    fitted: str = ""  #: for weights that were never released: the data to train on, and the command that makes it
    slug: str = ""  #: the row's name on the command line, if `name` does not give one

    @property
    def quoted(self) -> bool:
        return not self.formulation

    @property
    def handle(self) -> str:
        return self.slug or re.sub(r"[^A-Za-z0-9.+-]+", "-", self.name).strip("-")

    def list_needed_weights(self) -> dict[str, str]:
        """Return the names of the weights by role; an empty dictionary if the weights have no names."""
        if self.weights or not self.domain or self.formulation not in _NAMED:
            return dict(self.weights)
        end = f"{_NAMED[self.formulation]}{self.size}"
        return {Role.PLANNER: f"lumos_{self.domain}_plan_{end}", Role.GROUNDER: f"lumos_{self.domain}_ground_{end}"}

    @property
    def released(self) -> bool:
        """Whether the weights were published."""
        return (self.domain, _NAMED.get(self.formulation, ""), self.size) in RELEASED and not self.weights

    def needs(self, column: PaperColumn) -> str:
        """Return what is needed to run the row on a benchmark, as text."""
        weights, tools = self.list_needed_weights(), [f"{model} as {role}" for role, model in self.tools.items()]
        tools += [f"{column.judge} as judge"] if column.judge else []
        tools += [f"--tool {name}=…" for name in column.tools]
        tools += [column.data] if column.data else []
        tools += [] if can_verify(column.benchmark, column.split) else ["--published with the benchmark's own file"]
        if not weights:
            hint = f" (fit them on {self.fitted})" if self.fitted else ""
            return " and ".join([f"weights that were never released{hint}", *tools])
        names = " and ".join(dict.fromkeys(weights.values()))
        text = f"{names}{'' if self.released else ' (never released)'} at an endpoint"
        return " and ".join([text, *tools])


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A published table of results."""

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]


def number(figure: str) -> float | None:
    """Return the number in a printed figure; None for a dash."""
    match = re.search(r"[0-9]+(?:\.[0-9]+)?", figure)
    return float(match[0]) if match else None
