"""The registry of benchmarks: their names, and whether they are for tests, for training data, or for both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.checks import check_benchmark
from lumos_queue.benchmarks.from_file.definition import FileDefinition, is_file_benchmark
from lumos_queue.errors import SpecError, unknown
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
    "toolworld": (TEST,),
    "webshop": (TEST, TEACH),
    "wordmath": (TEST, TEACH),
}


class BenchmarkRegistry(Registry[Benchmark]):
    """The benchmarks by registered name. No benchmark of a user's file is registered, whatever modules are imported."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) and not (isinstance(name, str) and is_file_benchmark(name))

    def load(self, name: str) -> Benchmark:
        _refuse_file_name(name)
        return super().load(name)


BENCHMARKS = BenchmarkRegistry(
    "benchmark",
    {name: f"lumos_queue.benchmarks.{name}.benchmark:benchmark" for name in _USES},
    "benchmarks",
    Benchmark,
    check_benchmark,
)
TESTABLE = tuple(name for name, uses in _USES.items() if TEST in uses)  #: `lumos evaluate NAME`
TEACHABLE = tuple(name for name, uses in _USES.items() if TEACH in uses)  #: `lumos convert NAME`


def open_benchmark(name: str, definition: FileDefinition | None = None) -> Benchmark:
    """Return the benchmark of that name for a test of a model; with a `definition`, the benchmark that it defines.

    Raises SpecError for an unknown name, listing the names, and for a benchmark that only teaches.
    """
    if definition is not None:
        return _make_benchmark(definition)
    _refuse_file_name(name)
    if name not in TESTABLE and (name in _USES or not BENCHMARKS.knows(name)):
        raise unknown("benchmark", name, (*TESTABLE, *BENCHMARKS.plugin_names, "package.module:object"))
    benchmark = BENCHMARKS.load(name)
    if not benchmark.metrics:
        raise SpecError(f"The benchmark '{name}' has no metrics, so it only teaches: use it with lumos convert.")
    return benchmark


def open_benchmark_of(job: Any) -> Benchmark:
    """Return the benchmark of a job: the row of an evaluation, inference or conversion. Raises as `open_benchmark`."""
    return open_benchmark(job.benchmark, definition_of(job.spec))


def definition_of(spec: Mapping[str, Any]) -> FileDefinition | None:
    """Return the definition in a job's request; None if its rows are of no user's file. Raises SpecError if damaged."""
    return _read_definition(spec.get("infer", spec).get("definition"), "a job")


def _read_definition(value: Any, job: str) -> FileDefinition | None:
    if not value:
        return None
    try:
        return FileDefinition.from_json(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SpecError(f"The request of {job} is damaged: its definition has {error!r:.80}.") from None


def definition_of_episode(episode: Any) -> FileDefinition | None:
    """Return the definition that the job of a stored episode has; None if the job's rows are not of a user's file.

    Raises SpecError for a damaged definition.
    """
    return _read_definition(episode.definition, f"job {episode.job}")


def open_benchmark_of_episode(episode: Any) -> Benchmark:
    """Return the benchmark of a stored episode's task. Raises as `open_benchmark` and `definition_of_episode`."""
    return open_benchmark(episode.task.benchmark, definition_of_episode(episode))


def _make_benchmark(definition: FileDefinition) -> Benchmark:
    from lumos_queue.benchmarks.from_file.benchmark import FileBenchmark  # only jobs of files need it

    return FileBenchmark(definition)


def _refuse_file_name(name: str) -> None:
    """Raise SpecError for the name of a file's benchmark, because only its jobs have the definition."""
    if is_file_benchmark(name):
        raise SpecError(
            f"'{name}' was made from a data file, and only its jobs store its definition. Give the path of that file, "
            "or repeat one of its jobs with: lumos rerun JOB"
        )


def benchmark_of(job: Any) -> Benchmark:
    """Return the benchmark of an evaluation's row, for a report; a stub if the benchmark cannot be opened."""
    try:
        return open_benchmark_of(job)
    except SpecError:
        return _MissingBenchmark(job.benchmark, job.main_metric)


class _MissingBenchmark(Benchmark):
    """The stub of a benchmark whose plug-in is not installed, or may not be imported."""

    domain, licence = "", ""

    def __init__(self, name: str, metric: str):
        self.name, self.metrics = name, (metric,)


def is_test(benchmark: str, split: str) -> bool:
    """Whether a split is only for testing: the benchmark lists it as such, or its name is 'test'."""
    return split == "test" or (benchmark in BENCHMARKS and split in BENCHMARKS.load(benchmark).test_splits)


def is_test_task(task: Task, split: str) -> bool:
    """Whether a task is only for testing: by its row if the benchmark lists test rows, otherwise by its split."""
    rows = BENCHMARKS.load(task.benchmark).test_rows if knows_test_rows(task.benchmark) else None
    return is_test(task.benchmark, split) if rows is None else task.row in rows


def knows_test_rows(benchmark: str) -> bool:
    """Whether a benchmark lists its test rows. If it does, test tasks are detected without comparing texts."""
    return benchmark in BENCHMARKS and BENCHMARKS.load(benchmark).test_rows is not None


def open_source(name: str, definition: FileDefinition | None = None) -> Benchmark:
    """Return the benchmark of that name for training data; with a `definition`, the benchmark that it defines.

    Raises SpecError for an unknown name, listing the names, and for a benchmark that only tests.
    """
    if definition is not None:
        return _make_benchmark(definition)
    _refuse_file_name(name)
    name = find_registered_name(name)
    if name not in TEACHABLE and (name in _USES or not BENCHMARKS.knows(name)):
        raise unknown("source", name, (*TEACHABLE, *BENCHMARKS.plugin_names, "package.module:object"))
    benchmark = BENCHMARKS.load(name)
    if not benchmark.check_level:
        raise SpecError(f"The benchmark '{name}' has no check_level, so it only tests: use it with lumos evaluate.")
    return benchmark


def find_registered_name(name: str) -> str:
    """Return the registered name of a benchmark that a stored job names.

    Stored jobs may name a third-party module without its object; the object is then called `benchmark`.
    """
    return f"{name}:benchmark" if "." in name and ":" not in name else name
