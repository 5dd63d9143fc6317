"""Benchmarks by name: which there are, and what for. A new one is a folder of its name and a line here."""

from __future__ import annotations

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import unknown
from lumos_queue.records import Task
from lumos_queue.util.registry import Registry

TEST, TEACH = "test", "teach"
_USES = {
    "aokvqa": (TEST, TEACH),
    "asdiv": (TEST, TEACH),
    "gsm8k": (TEST, TEACH),
    "hotpotqa": (TEST, TEACH),
    "intercode_sql": (TEST,),
    "mawps": (TEST, TEACH),
    "mind2web": (TEST, TEACH),
    "musique": (TEST, TEACH),
    "open_ended": (TEST,),
    "openagi": (TEST, TEACH),
    "prm800k": (TEACH,),
    "rewoo": (TEACH,),
    "scienceqa": (TEST,),
    "spider": (TEACH,),
    "strategyqa": (TEST, TEACH),
    "sum2act_visual": (TEST,),
    "superni": (TEST,),
    "svamp": (TEST, TEACH),
    "toolbench": (TEST,),
    "tooleval": (TEST,),
    "webshop": (TEST, TEACH),
    "wordmath": (TEST, TEACH),
}
BENCHMARKS: Registry[Benchmark] = Registry(
    "benchmark", {name: f"lumos_queue.benchmarks.{name}.benchmark:benchmark" for name in _USES}
)
TESTABLE = tuple(name for name, uses in _USES.items() if TEST in uses)  #: `lumos evaluate NAME`
TEACHABLE = tuple(name for name, uses in _USES.items() if TEACH in uses)  #: `lumos convert NAME`


def open_benchmark(name: str) -> Benchmark:
    """The benchmark of that name, to test with. Raises SpecError for an unknown one, listing the names."""
    if name not in TESTABLE:
        raise unknown("benchmark", name, TESTABLE)
    return BENCHMARKS.load(name)


def is_test(benchmark: str, split: str) -> bool:
    """Whether a split is for testing alone: as the benchmark says, and where it is called 'test'."""
    return split == "test" or (benchmark in BENCHMARKS and split in BENCHMARKS.load(benchmark).test_splits)


def is_test_task(task: Task, split: str) -> bool:
    """Whether a task is for testing alone: where its row says so, whatever split it was stored as."""
    rows = BENCHMARKS.load(task.benchmark).test_rows if knows_test_rows(task.benchmark) else None
    return is_test(task.benchmark, split) if rows is None else task.row in rows


def knows_test_rows(benchmark: str) -> bool:
    """Whether its rows say which tasks are for testing: then no text has to be compared with theirs."""
    return benchmark in BENCHMARKS and BENCHMARKS.load(benchmark).test_rows is not None


def open_source(name: str) -> Benchmark:
    """The benchmark of that name, to teach with, or the one that a user's module holds: `mylab.travelplanner`.

    Raises SpecError for an unknown name, listing the names, and for a module that cannot be imported or has none.
    """
    if name in TEACHABLE:
        return BENCHMARKS.load(name)
    if "." not in name:
        raise unknown("source", name, (*TEACHABLE, "a module of your own, written with a dot"))
    return BENCHMARKS.load_module(name, Benchmark)
