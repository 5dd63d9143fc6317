"""Report which module is at fault in the episodes of two blame jobs, and write training rows for this module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from db.engine.connection import Database
from db.engine.snapshot import reading
from db.queries.derived_episodes import DerivedTry, load_named_episodes, tries_of
from db.queries.jobs import get_job
from db.queries.trajectories import load_episodes
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_benchmark_of
from lumos_queue.builds.licences import FilteredRows, RowFilter
from lumos_queue.builds.lines import Write
from lumos_queue.errors import SpecError
from lumos_queue.records import MODULES
from lumos_queue.reports.json_values import MERGED
from lumos_queue.rollouts.blame import FAULTS, Difference, fault, find_difference, label_row, preference_row
from lumos_queue.rollouts.derivation import is_right

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode

MAX_SAMPLES = 8  #: the number of runs of a kind that are searched for a better reply


@dataclass(frozen=True, slots=True)
class BlameReport:
    """The modules at fault in failed episodes."""

    jobs: Sequence[str]  #: with gold planners, with gold grounders
    episodes: int
    gone: int  #: episodes that were removed
    threshold: float  #: the share of a run's samples that must be right
    faults: Mapping[str, int]  #: episodes by what is at fault
    pairs: Mapping[str, int]  #: preference pairs by module
    filtered: FilteredRows = field(metadata=MERGED)
    blamed: Mapping[str, str]  #: what is at fault, by episode


def report_blame(
    database: Database,
    jobs: Sequence[str],
    threshold: float,
    write_pair: Write,
    write_labels: Write,
    allow_test: bool = False,
) -> BlameReport:
    """Count the modules at fault in the episodes of two jobs, and write a pair and labels for each module at fault.

    A run succeeds if at least the share `threshold` (0 to 1) of its samples is right. Pairs and labels of test splits
    are refused unless `allow_test`. A pair and its labels are counted once. Raises SpecError unless one job has gold
    planners and the other job has gold grounders.
    """
    names, runs = _runs(database, jobs)
    with database.engine.connect() as connection:
        benchmark = open_benchmark_of(get_job(connection, names[0]))
    successes = {
        module: {name: _is_solved(benchmark, tries, threshold) for name, tries in runs[module].items()}
        for module in MODULES
    }
    all_names = list(dict.fromkeys(name for module in MODULES for name in runs[module]))
    faults = {name: fault(*(successes[module].get(name) for module in MODULES)) for name in all_names}
    counts, pairs = Counter(faults.values()), Counter()
    stored_names: set[str] = set()
    row_filter = RowFilter(allow_test)
    for episode in load_named_episodes(database, faults):
        stored_names.add(episode.name)
        fault_name = faults[episode.name]
        for module in MODULES if fault_name == "both" else (fault_name,):
            tries = runs[module].get(episode.name, []) if module in MODULES else []
            better = _difference(database, benchmark, module, episode, tries)
            if better and row_filter.admit(episode.split, episode.licence, episode.task.benchmark):
                pairs[module] += 1
                write_pair(preference_row(episode, module, better, fault_name, names))
                write_labels(label_row(episode, module, better, fault_name, names))
    return BlameReport(
        jobs=names,
        episodes=len(faults),
        gone=len(faults) - len(stored_names),
        threshold=threshold,
        faults={name: counts[name] for name in FAULTS},
        pairs={module: pairs[module] for module in MODULES},
        filtered=row_filter.report(),
        blamed=faults,
    )


def _runs(database: Database, jobs: Sequence[str]) -> tuple[list[str], Mapping[str, Mapping[str, list[DerivedTry]]]]:
    """Return the ids of the jobs with gold planner and gold grounder, and their tries by module and episode."""
    runs: dict[str, dict[str, list[DerivedTry]]] = {}
    names: dict[str, str] = {}
    with database.engine.connect() as connection:
        for job in jobs:
            row = get_job(connection, job)
            for attempt in tries_of(connection, row):
                module = attempt.origin.get("gold", "")
                runs.setdefault(module, {}).setdefault(attempt.origin["episode"], []).append(attempt)
                names[module] = row.id
    if set(runs) != set(MODULES) or len(set(names.values())) != len(MODULES):
        raise SpecError("Name the two jobs that one `lumos blame` submitted: a gold planner's and a gold grounder's.")
    return [names[module] for module in MODULES], runs


def _is_solved(benchmark: Benchmark, tries: Sequence[DerivedTry], threshold: float) -> bool | None:
    """Return whether enough tries are right; None while a try has not ended."""
    if not all(attempt.ended for attempt in tries):
        return None
    return sum(is_right(benchmark, attempt) for attempt in tries) >= threshold * len(tries)


def _difference(
    database: Database, benchmark: Benchmark, module: str, episode: StoredEpisode, tries: Sequence[DerivedTry]
) -> Difference | None:
    """Find the module's first wrong reply by comparison with the runs of its replacement, successful runs first."""
    successes = {attempt.episode: is_right(benchmark, attempt) for attempt in tries if attempt.ended}
    first = sorted(successes, key=lambda key: (not successes[key], key))[:MAX_SAMPLES]
    with reading(database) as connection:
        steps = {run.id: run.steps for run in load_episodes(connection, first)}
    return find_difference(module, episode.steps, [(steps[key], successes[key]) for key in first])
