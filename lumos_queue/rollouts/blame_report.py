"""Which module a pair of blame jobs finds at fault, and the training rows for that module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from db.connection import Database
from db.derived_episodes import DerivedTry, named_episodes, tries_of
from db.jobs import get_job
from db.trajectories import load_episodes, reading
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_benchmark_of
from lumos_queue.builds.licences import RowFilter
from lumos_queue.builds.lines import Write
from lumos_queue.errors import SpecError
from lumos_queue.records import MODULES
from lumos_queue.rollouts.blame import FAULTS, Difference, fault, find_difference, label_row, preference_row
from lumos_queue.rollouts.derivation import is_right

if TYPE_CHECKING:
    from db.trajectories import StoredEpisode

MAX_SAMPLES = 8  #: at most this many runs of one kind are searched for a better reply


def report_blame(
    database: Database,
    jobs: Sequence[str],
    threshold: float,
    write_pair: Write,
    write_labels: Write,
    allow_test: bool = False,
) -> dict[str, Any]:
    """Count which module each episode of the two jobs failed by; write a pair and labels for each module at fault.

    A run counts as a success when at least the share `threshold` of its samples is right. Pairs and labels of test
    splits are refused and counted, each pair with its labels once, unless `allow_test`. Raises SpecError unless the
    jobs are a gold planner's and a gold grounder's.
    """
    names, runs = _runs(database, jobs)
    with database.engine.connect() as connection:
        benchmark = open_benchmark_of(get_job(connection, names[0]))
    succeeded = {
        module: {name: _is_solved(benchmark, tries, threshold) for name, tries in runs[module].items()}
        for module in MODULES
    }
    all_names = list(dict.fromkeys(name for module in MODULES for name in runs[module]))
    blamed = {name: fault(*(succeeded[module].get(name) for module in MODULES)) for name in all_names}
    counts, pairs = Counter(blamed.values()), Counter()
    found: set[str] = set()
    row_filter = RowFilter(allow_test)
    for episode in named_episodes(database, blamed):
        found.add(episode.name)
        at_fault = blamed[episode.name]
        for module in MODULES if at_fault == "both" else (at_fault,):
            tries = runs[module].get(episode.name, []) if module in MODULES else []
            better = _difference(database, benchmark, module, episode, tries)
            if better and row_filter.admit(episode.split, episode.licence, episode.task.benchmark):
                pairs[module] += 1
                write_pair(preference_row(episode, module, better, at_fault, names))
                write_labels(label_row(episode, module, better, at_fault, names))
    return {
        "jobs": names,
        "episodes": len(blamed),
        "gone": len(blamed) - len(found),
        "threshold": threshold,
        "faults": {name: counts[name] for name in FAULTS},
        "pairs": {module: pairs[module] for module in MODULES},
        **row_filter.report(),
        "blamed": blamed,
    }


def _runs(database: Database, jobs: Sequence[str]) -> tuple[list[str], Mapping[str, Mapping[str, list[DerivedTry]]]]:
    """The ids of the gold planner's and the gold grounder's job, and their tries by source episode."""
    runs: dict[str, dict[str, list[DerivedTry]]] = {}
    names: dict[str, str] = {}
    with database.engine.connect() as connection:
        for job in jobs:
            row = get_job(connection, job)
            for one in tries_of(connection, row):
                module = one.origin.get("gold", "")
                runs.setdefault(module, {}).setdefault(one.origin["episode"], []).append(one)
                names[module] = row.id
    if set(runs) != set(MODULES) or len(set(names.values())) != len(MODULES):
        raise SpecError("Name the two jobs that one `lumos blame` submitted: a gold planner's and a gold grounder's.")
    return [names[module] for module in MODULES], runs


def _is_solved(benchmark: Benchmark, tries: Sequence[DerivedTry], threshold: float) -> bool | None:
    """Whether enough tries are right; None while one has not ended."""
    if not all(one.ended for one in tries):
        return None
    return sum(is_right(benchmark, one) for one in tries) >= threshold * len(tries)


def _difference(
    database: Database, benchmark: Benchmark, module: str, episode: StoredEpisode, tries: Sequence[DerivedTry]
) -> Difference | None:
    """Where the module went wrong, compared with the runs in which it was replaced, successful ones first."""
    succeeded = {one.episode: is_right(benchmark, one) for one in tries if one.ended}
    first = sorted(succeeded, key=lambda key: (not succeeded[key], key))[:MAX_SAMPLES]
    with reading(database) as connection:
        steps = {one.id: one.steps for one in load_episodes(connection, first)}
    return find_difference(module, episode.steps, [(steps[key], succeeded[key]) for key in first])
