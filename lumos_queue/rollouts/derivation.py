"""Derive datasets from stored episodes: the same tasks, in which some replies are given (execution/prefill.py)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.from_file.definition import FileDefinition
from lumos_queue.benchmarks.registry import definition_of_episode, open_benchmark_of_episode
from lumos_queue.builds.stages import whole_plan
from lumos_queue.errors import SpecError
from lumos_queue.execution.prefill import source_row
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import Annotation, Ending, Role, Subgoal, Task
from lumos_queue.scoring.limit import select_judged_answer
from lumos_queue.submission.store import Rows, read_rows

if TYPE_CHECKING:
    from db.queries.derived_episodes import DerivedTry
    from db.queries.trajectories import StoredEpisode

#: The inputs that derivation adds; a task that is derived from a derived task gets new values.
_DERIVED_INPUTS = ("given", "given_while", "from")


class ExcludedEpisode(Exception):
    """Raised for an episode from which no task is derived. The message is the reason, by which episodes are counted."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """A task that is derived from an episode.

    `label` is unique among the tasks of the episode. `given`: the given replies by role. `subgoals`: the number of the
    episode's subgoals that are given.
    """

    label: str
    given: Mapping[str, Sequence[str]]
    subgoals: int
    given_while: Sequence[str] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)  #: further fields of the task's origin


@dataclass(frozen=True, slots=True)
class DerivedDatasets:
    """The datasets that were derived from episodes, by name, and the numbers of excluded episodes by reason."""

    formulation: str
    benchmark: Benchmark
    rows: Mapping[str, Rows]
    episodes: int
    left_out: Mapping[str, int]
    definition: FileDefinition | None = None  #: of the benchmark, if its rows are of the user's own file


#: Derive the tasks of an episode, by dataset. Raises ExcludedEpisode.
Make = Callable[["StoredEpisode"], Mapping[str, Sequence[Derivation]]]


def derive(episodes: Iterable[StoredEpisode], make: Make) -> DerivedDatasets:
    """Derive datasets from episodes, which must have the same benchmark, split, licence, formulation and definition.

    Raises SpecError when they differ, or when no task can be derived.
    """
    tasks: dict[str, list[Task]] = {}
    exclusions: Counter[str] = Counter()
    kind: tuple[str, str, str, str] | None = None
    first: StoredEpisode | None = None
    episode_count = 0
    for episode in episodes:
        episode_kind = (episode.task.benchmark, episode.split, episode.licence, formulation_of(episode))
        if episode_kind != (kind := kind or episode_kind):
            raise SpecError(
                f"The query finds episodes of {' '.join(filter(None, kind))} and of "
                f"{' '.join(filter(None, episode_kind))}: a job has one benchmark, split, licence and formulation. "
                "Choose with: --where 'benchmark=… split=…'."
            )
        first = first or episode
        if episode.definition != first.definition:
            raise SpecError(
                f"The query finds episodes of two definitions of '{episode_kind[0]}', in the jobs {first.job} and "
                f"{episode.job}: a job has one. Choose with: --where 'job=…'."
            )
        try:
            if not open_benchmark_of_episode(episode).by_answer:
                raise ExcludedEpisode("its benchmark judges the actions, not the answer")
            if (definition := definition_of_episode(episode)) and definition.scorer == "judge":
                raise ExcludedEpisode("a model judges its answer")
            derivations_by_name = make(episode)
        except ExcludedEpisode as reason:
            exclusions[str(reason)] += 1
            continue
        episode_count += 1
        for name, derivations in derivations_by_name.items():
            tasks.setdefault(name, []).extend(_task(episode, derivation) for derivation in derivations)
    if kind is None or first is None or not any(tasks.values()):
        reasons = "; ".join(f"{reason}: {count}" for reason, count in exclusions.most_common())
        raise SpecError(f"No episode that the query finds can be used ({reasons or 'it finds none'}).")
    benchmark = open_benchmark_of_episode(first)
    rows = {
        name: read_rows(_DerivedBenchmark(kind[0], benchmark, kind[2], dataset_tasks), None, kind[1], False)
        for name, dataset_tasks in tasks.items()
    }
    return DerivedDatasets(kind[3], benchmark, rows, episode_count, exclusions, definition_of_episode(first))


def formulation_of(episode: StoredEpisode) -> str:
    """Return the formulation in which the episode continues: its own, or the usual for an annotated episode."""
    return episode.formulation if episode.formulation in FORMULATIONS else USUAL


def is_right(benchmark: Benchmark, episode: StoredEpisode | DerivedTry) -> bool:
    """Return whether an episode's answer is right by the benchmark's main metric."""
    answer = select_judged_answer(episode.ending, episode.answer, episode.at_limit)
    return benchmark.score(episode.task, EpisodeResult(answer, episode.ending))[0].value == 1.0


def gold_of(benchmark: Benchmark, task: Task) -> Annotation:
    """Return the gold annotation of a task. Raises ExcludedEpisode if the task has none."""
    try:
        return benchmark.gold(task)
    except SpecError as reason:
        raise ExcludedEpisode(f"no gold annotation ({reason})") from None


def regroundings(episode: StoredEpisode) -> Mapping[str, Sequence[Derivation]]:
    """Derive a task with the episode's plan, for which the grounder is called again and all actions run again."""
    require_ended(episode)
    if not FORMULATIONS.load(formulation_of(episode)).is_modular:
        raise ExcludedEpisode(f"{episode.formulation}: it has no planner")
    subgoals = sum(isinstance(step.detail, Subgoal) for step in episode.steps)
    return {"": [Derivation("plan", {Role.PLANNER: whole_plan(episode.steps)}, subgoals)]}


def require_ended(episode: StoredEpisode) -> None:
    """Raise ExcludedEpisode for an episode that was cancelled or ended by an error of the infrastructure."""
    if episode.ending in (Ending.INFRA_ERROR, Ending.CANCELLED):
        raise ExcludedEpisode(f"ended as {episode.ending}")


def _task(episode: StoredEpisode, derivation: Derivation) -> Task:
    source = episode.task
    inputs = {name: value for name, value in source.inputs.items() if name not in _DERIVED_INPUTS}
    inputs["given"] = {role: list(replies) for role, replies in derivation.given.items()}
    if derivation.given_while is not None:
        inputs["given_while"] = list(derivation.given_while)
    row = source_row(source)
    inputs["from"] = {"episode": episode.name, "row": row, "subgoals": derivation.subgoals, **derivation.about}
    return replace(source, dataset="", row=f"{row}@{episode.name}:{derivation.label}", inputs=inputs)


class _DerivedBenchmark(Benchmark):
    """The original benchmark, whose rows are replaced by derived tasks."""

    needs_data = False

    def __init__(self, name: str, benchmark: Benchmark, licence: str, tasks: Sequence[Task]):
        """`name` is the name of the original benchmark in the registry."""
        self.name, self.domain, self.splits = name, benchmark.domain, benchmark.splits
        self.licence, self._tasks = licence, tasks
        self.gold, self.score, self.baselines = benchmark.gold, benchmark.score, benchmark.baselines  # type: ignore[method-assign]

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task]:
        return iter(self._tasks)
