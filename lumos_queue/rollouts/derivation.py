"""Datasets derived from stored episodes: the same tasks, with some of the replies given (execution/prefill.py)."""

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
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import Annotation, Subgoal, Task
from lumos_queue.scoring.limit import judged_answer
from lumos_queue.submission.store import Rows, read_rows

if TYPE_CHECKING:
    from db.derived_episodes import DerivedTry
    from db.trajectories import StoredEpisode

#: The inputs that derivation adds; a task derived from a derived one gets new values.
_DERIVED_INPUTS = ("given", "given_while", "from")


class ExcludedEpisode(Exception):
    """Raised for an episode from which nothing is derived. Its message is the reason under which it is counted."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """One task made of an episode: `label` tells it from the others of the episode, `subgoals` of which are given."""

    label: str
    given: Mapping[str, Sequence[str]]
    subgoals: int
    given_while: Sequence[str] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)  #: added to what the task says of its origin


@dataclass(frozen=True, slots=True)
class Derived:
    """Datasets made from the same episodes, by name, and how many episodes were excluded, by reason."""

    formulation: str
    benchmark: Benchmark
    rows: Mapping[str, Rows]
    episodes: int
    left_out: Mapping[str, int]
    definition: FileDefinition | None = None  #: of the benchmark, where its rows are of a person's own file


#: From an episode to its tasks, by dataset. Raises LeftOut.
Make = Callable[["StoredEpisode"], Mapping[str, Sequence[Derivation]]]


def derive(episodes: Iterable[StoredEpisode], make: Make) -> Derived:
    """The datasets of the episodes; those of a job must have one benchmark, split, licence and formulation.

    Raises SpecError when they have not, or when no task results.
    """
    tasks: dict[str, list[Task]] = {}
    left_out: Counter[str] = Counter()
    kind: tuple[str, str, str, str] | None = None
    first: StoredEpisode | None = None
    used = 0
    for episode in episodes:
        own = (episode.task.benchmark, episode.split, episode.licence, formulation_of(episode))
        if own != (kind := kind or own):
            raise SpecError(
                f"The query finds episodes of {' '.join(filter(None, kind))} and of {' '.join(filter(None, own))}: "
                "a job has one benchmark, split, licence and formulation. Choose with: --where 'benchmark=… split=…'."
            )
        first = first or episode
        if episode.definition != first.definition:
            raise SpecError(
                f"The query finds episodes of two definitions of '{own[0]}', in the jobs {first.job} and "
                f"{episode.job}: a job has one. Choose with: --where 'job=…'."
            )
        try:
            if not open_benchmark_of_episode(episode).by_answer:
                raise ExcludedEpisode("it is judged by what was done, not by its answer")
            if (definition := definition_of_episode(episode)) and definition.scorer == "judge":
                raise ExcludedEpisode("a model judges its answer")
            made = make(episode)
        except ExcludedEpisode as reason:
            left_out[str(reason)] += 1
            continue
        used += 1
        for name, derivations in made.items():
            tasks.setdefault(name, []).extend(_task(episode, one) for one in derivations)
    if kind is None or first is None or not any(tasks.values()):
        reasons = "; ".join(f"{reason}: {count}" for reason, count in left_out.most_common())
        raise SpecError(f"No episode that the query finds can be used ({reasons or 'it finds none'}).")
    benchmark = open_benchmark_of_episode(first)
    rows = {
        name: read_rows(_DerivedBenchmark(kind[0], benchmark, kind[2], made), None, kind[1], False)
        for name, made in tasks.items()
    }
    return Derived(kind[3], benchmark, rows, used, left_out, definition_of_episode(first))


def formulation_of(episode: StoredEpisode) -> str:
    """The formulation of the episode; an annotated one continues as an iterative one."""
    return episode.formulation if episode.formulation in FORMULATIONS else "iterative"


def is_right(benchmark: Benchmark, episode: StoredEpisode | DerivedTry) -> bool:
    """Whether an episode's answer is right, by the benchmark's main metric."""
    answer = judged_answer(episode.ending, episode.answer, episode.at_limit)
    return benchmark.score(episode.task, EpisodeResult(answer, episode.ending))[0].value == 1.0


def gold_of(benchmark: Benchmark, task: Task) -> Annotation:
    """The gold annotation. Raises LeftOut when the task has none."""
    try:
        return benchmark.gold(task)
    except SpecError as reason:
        raise ExcludedEpisode(f"no gold annotation ({reason})") from None


def regroundings(episode: StoredEpisode) -> Mapping[str, Sequence[Derivation]]:
    """The episode's plan is given; the grounder is asked again, and every action runs again."""
    require_ended(episode)
    if formulation_of(episode) not in ("iterative", "one-pass"):
        raise ExcludedEpisode(f"{episode.formulation}: nobody plans")
    subgoals = sum(isinstance(step.detail, Subgoal) for step in episode.steps)
    return {"": [Derivation("plan", {"planner": whole_plan(episode.steps)}, subgoals)]}


def require_ended(episode: StoredEpisode) -> None:
    """Raises LeftOut for an episode that something other than its modules brought to an end."""
    if episode.ending in ("infra_error", "cancelled"):
        raise ExcludedEpisode(f"ended as {episode.ending}")


def _task(episode: StoredEpisode, one: Derivation) -> Task:
    source = episode.task
    inputs = {name: value for name, value in source.inputs.items() if name not in _DERIVED_INPUTS}
    inputs["given"] = {role: list(replies) for role, replies in one.given.items()}
    if one.given_while is not None:
        inputs["given_while"] = list(one.given_while)
    row = source_row(source)
    inputs["from"] = {"episode": episode.name, "row": row, "subgoals": one.subgoals, **one.about}
    return replace(source, dataset="", row=f"{row}@{episode.name}:{one.label}", inputs=inputs)


class _DerivedBenchmark(Benchmark):
    """A benchmark whose rows are derived tasks; everything else is that of the original benchmark."""

    needs_data = False

    def __init__(self, name: str, benchmark: Benchmark, licence: str, made: Sequence[Task]):
        """`name`: the original's in the registry."""
        self.name, self.domain, self.splits = name, benchmark.domain, benchmark.splits
        self.licence, self._tasks = licence, made
        self.gold, self.score, self.baselines = benchmark.gold, benchmark.score, benchmark.baselines  # type: ignore[method-assign]

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task]:
        return iter(self._tasks)
