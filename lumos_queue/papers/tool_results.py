"""The tables of Sum2Act, ToolBench and StableToolBench: all rows, with their figures as printed (spec/sum2act.md 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lumos_queue.actions.tools.protocols import PROTOCOL, TOOLBENCH
from lumos_queue.benchmarks.toolbench.benchmark import PUBLISHED
from lumos_queue.benchmarks.toolbench.rows import FILES

SUBSETS = tuple(FILES)  #: in the order of the figures
MEAN = "mean"  #: the column of the unweighted mean of the six


@dataclass(frozen=True, slots=True)
class ToolMethod:
    """A published method: a formulation, and the `settings` that distinguish it from the other methods with it."""

    formulation: str
    settings: Mapping[str, str]
    #: Settings of the published code, in which an evaluation may differ: its row then has a remark.
    published: Mapping[str, str] = field(default_factory=dict)


_TOOLBENCH = {PROTOCOL: TOOLBENCH}
REACT = ToolMethod("react", {"tries": "1"}, _TOOLBENCH)
DFSDT = ToolMethod("dfsdt", {}, _TOOLBENCH)
SUM2ACT = ToolMethod("sum2act", {"decompose": "no"})
DECOMPOSED = ToolMethod("sum2act", {"decompose": "yes"})


@dataclass(frozen=True, slots=True)
class ToolRow:
    """A method with its published figures: those of the six subsets in order, and their average."""

    name: str
    slug: str  #: its name on the command line
    method: ToolMethod
    printed: str
    against: ToolMethod | None = None  #: the method that it is compared with

    @property
    def figures(self) -> dict[str, str]:
        """The figures as printed, by column: the subsets and MEAN."""
        return dict(zip((*SUBSETS, MEAN), self.printed.split(), strict=True))


@dataclass(frozen=True, slots=True)
class ToolTable:
    """A published table with the settings of its measurement."""

    key: str
    title: str
    source: str  #: [P] the Sum2Act paper, [T] ToolBench, [S] StableToolBench
    metric: str  #: of `lumos judge`
    rows: tuple[ToolRow, ...]
    models: tuple[str, ...] = ("gpt-3.5-turbo", "gpt-3.5-turbo-16k")  #: names of the agents' model, any of them
    judge: str = "gpt-3.5-turbo-16k"
    votes: int = 4  #: at least
    queries: Mapping[str, int] = field(default_factory=dict)  #: subset to number of queries, where it is stated
    data: str = "test_instruction"  #: the folder of its queries
    answers: tuple[str, ...] = ("recorded", "live")  #: provenances of tool answers that are as good as the published
    note: str = ""


_HUNDRED = dict.fromkeys(SUBSETS, 100)
_HALVES = "figures that end in .5 need 200 queries, or ties that count 1/2"
_NOT_STATED = "how many queries were taken is not stated"

SUM2ACT_PASS = ToolTable(
    "sum2act-pass",
    "Pass rate, ChatGPT, oracle APIs",
    "[P]",
    "tooleval_pass",
    (
        ToolRow("ReAct-CoT", "ReAct-CoT", REACT, "36.0 52.0 40.0 42.5 39.0 37.0 41.1"),
        ToolRow("DFSDT", "DFSDT", DFSDT, "57.0 63.0 63.0 78.0 69.0 72.0 67.0"),
        ToolRow("Sum2Act", "Sum2Act", SUM2ACT, "71.0 71.0 65.0 78.0 61.0 74.0 70.0"),
        ToolRow("Sum2Act + task decomposition", "Sum2Act-decomposed", DECOMPOSED, "62.0 75.0 73.0 73.0 67.0 74.0 70.7"),
    ),
    queries=_HUNDRED,
    note=_HALVES,
)

SUM2ACT_WIN = ToolTable(
    "sum2act-win",
    "Win rate, ChatGPT, oracle APIs",
    "[P]",
    "win",
    (
        ToolRow("DFSDT vs ReAct-CoT", "DFSDT-vs-ReAct-CoT", DFSDT, "63.5 54.5 65.0 70.0 69.0 72.5 65.8", REACT),
        ToolRow("Sum2Act vs ReAct-CoT", "Sum2Act-vs-ReAct-CoT", SUM2ACT, "71.5 59.5 66.5 73.5 61.5 74.5 67.8", REACT),
        ToolRow("Sum2Act vs DFSDT", "Sum2Act-vs-DFSDT", SUM2ACT, "60.0 58.5 56.0 55.0 48.0 50.0 54.6", DFSDT),
        ToolRow(
            "Sum2Act + task decomposition vs ReAct-CoT",
            "Sum2Act-decomposed-vs-ReAct-CoT",
            DECOMPOSED,
            "64.0 61.0 74.5 70.5 68.5 74.0 68.8",
            REACT,
        ),
    ),
    queries=_HUNDRED,
)

TOOLBENCH_PASS = ToolTable(
    "toolbench-pass",
    "Pass rate, ChatGPT",
    "[T]",
    "tooleval_pass",
    (
        ToolRow("ReACT", "ReACT", REACT, "41.5 44 44.5 42.5 46.5 22 40.2"),
        ToolRow("DFSDT", "DFSDT", DFSDT, "54.5 65 60.5 75 71.5 62 64.8"),
    ),
    note=_NOT_STATED,
)

TOOLBENCH_WIN = ToolTable(
    "toolbench-win",
    "Win rate, ChatGPT",
    "[T]",
    "win",
    (ToolRow("DFSDT vs ReACT", "DFSDT-vs-ReACT", DFSDT, "60.5 62 57.3 72 64.8 69 64.3", REACT),),
    note=_NOT_STATED,
)

STABLE_SOPR = ToolTable(
    "stabletoolbench-sopr",
    "Solvable pass rate (SoPR)",
    "[S]",
    "sopr",
    (
        ToolRow("GPT-3.5-0613 CoT", "CoT", REACT, "52.2 53.6 47.3 35.8 42.5 48.1 46.6"),
        ToolRow("GPT-3.5-0613 DFS", "DFS", DFSDT, "60.3 67.1 66.2 51.3 59.1 73.8 63.0"),
    ),
    models=("gpt-3.5-turbo-0613", "gpt-3.5-turbo-16k-0613"),
    judge="gpt-4-turbo",
    votes=3,
    queries=PUBLISHED,
    data="solvable_queries/test_instruction",
    answers=("recorded", "live", "simulated"),
    note="tool answers were cached ones, else simulated",
)

TOOL_TABLES = {table.key: table for table in (SUM2ACT_PASS, SUM2ACT_WIN, TOOLBENCH_PASS, TOOLBENCH_WIN, STABLE_SOPR)}
