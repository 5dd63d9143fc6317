"""The benchmarks of stored episodes: those of this project, of users' modules, and of users' files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from db.engine.connection import Database
from db.kinds.job_kinds import JobKind
from db.queries.jobs import specs_of_kind
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.definition import is_file_benchmark
from lumos_queue.benchmarks.registry import (
    BENCHMARKS,
    TEACHABLE,
    definition_of_episode,
    find_registered_name,
    open_source,
)
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.formulations.registry import FORMULATIONS

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode


def user_modules(database: Database) -> list[str]:
    """Return the users' modules (such as `mylab.travelplanner`) that stored conversions from before plug-ins name."""
    with database.engine.connect() as connection:
        specs = specs_of_kind(connection, JobKind.CONVERT)
        return sorted({spec["source"] for spec in specs if _is_module(spec.get("source", ""))})


def _is_module(source: str) -> bool:
    return find_registered_name(source) != source


#: Opens the file of a user: takes its path, returns its benchmark and the path of its rows. Raises SpecError.
OpenFile = Callable[[Path], tuple[Benchmark, Path]]


class KnownBenchmarks:
    """The benchmarks of this project and of modules of users."""

    def __init__(self, modules: Iterable[str] = (), open_file: OpenFile | None = None):
        """Open the modules. `open_file` opens users' files that are test splits; None if no file may be a test split.

        Modules that this process may not import are left out. Raises SpecError for a module that cannot be imported.
        """
        self.open_file = open_file
        user_benchmarks = [open_source(module) for module in modules if find_registered_name(module) in BENCHMARKS]
        self._of_users: Mapping[str, Benchmark] = {benchmark.name: benchmark for benchmark in user_benchmarks}

    def to_teach(self, episode: StoredEpisode) -> Benchmark | None:
        """Return the benchmark of the episode's task if it has rationales, else None."""
        name = episode.task.benchmark
        if is_file_benchmark(name):
            return self._of_file(episode)
        if name in self._of_users:
            return self._of_users[name]
        return BENCHMARKS.load(name) if name in TEACHABLE else None

    def of_episode(self, episode: StoredEpisode) -> Benchmark:
        """Return the benchmark of the episode's task. Raises SpecError for an unknown one."""
        name = episode.task.benchmark
        if is_file_benchmark(name) and (benchmark := self._of_file(episode)):
            return benchmark
        return self.get(name)

    def get(self, name: str) -> Benchmark:
        """Return the benchmark of that name. Raises SpecError for an unknown name, and for the benchmark of a file."""
        if not is_file_benchmark(name) and name in BENCHMARKS:
            return BENCHMARKS.load(name)
        if name not in self._of_users:
            raise unknown("benchmark", name, {*BENCHMARKS, *self._of_users})
        return self._of_users[name]

    def _of_file(self, episode: StoredEpisode) -> Benchmark | None:
        """Return the benchmark of a user's file as the episode's job defines it; None for a damaged definition.

        The file's title is not enough, because jobs on files with the same title may have different definitions.
        """
        try:
            definition = definition_of_episode(episode)
            return open_source(definition.name, definition) if definition else None
        except SpecError:
            return None

    def of_domain(self, domain: str) -> set[str]:
        """Return the names of all benchmarks of a domain that have other splits than `train`."""
        benchmarks = {name: BENCHMARKS.load(name) for name in BENCHMARKS} | dict(self._of_users)
        usual = FORMULATIONS.load(USUAL)
        return {
            name
            for name, benchmark in benchmarks.items()
            if benchmark.domain == domain and benchmark.accepts(usual) and {*benchmark.splits} != {"train"}
        }

    def domain(self, episode: StoredEpisode) -> str:
        """Return the domain of a task's actions. Raises LookupError when neither task nor benchmark names a domain."""
        task, benchmark = episode.task, self.to_teach(episode)
        for name in (task.inputs.get("domain"), benchmark.domain if benchmark else "", task.benchmark):
            if isinstance(name, str) and name in DOMAINS:
                return name
        raise LookupError(task.benchmark)

    def domain_of_run(self, episode: StoredEpisode) -> str:
        """Return the domain of a run's actions, also for a benchmark without training data.

        Raises SpecError for an unknown benchmark.
        """
        try:
            return self.domain(episode)
        except LookupError:
            return self.of_episode(episode).domain
