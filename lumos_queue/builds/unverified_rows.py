"""Find datasets whose rows may not be the published rows of their benchmark, and so have an unknown licence."""

from __future__ import annotations

from collections.abc import Iterable

from db.engine.connection import Connection
from db.queries.derived_episodes import find_source_jobs
from db.queries.jobs import jobs_with_dataset
from db.queue.endings import STORED
from db.queue.stored_jobs import StoredJob
from lumos_queue.row_origins.origins import KINDS, RowState, read_row_origins


def find_unverified(connection: Connection) -> tuple[frozenset[str], frozenset[str]]:
    """Return the digests of datasets with unverified rows, and of datasets whose rows a person stated to be published.

    A person's statement for one job (--published) applies to the job's dataset. Imported rows are left out, because
    the import stated their licence. Tasks made of stored episodes are as verified as the rows of these episodes.
    """
    jobs = [job for job in jobs_with_dataset(connection, KINDS) if job.origin not in STORED]
    origins = read_row_origins(connection, jobs)
    states = {job.id: origins[job.id].state for job in jobs}
    by_state = {state: {job.dataset for job in jobs if job.dataset and states[job.id] == state} for state in RowState}
    verified_datasets, stated_datasets = by_state[RowState.VERIFIED], by_state[RowState.STATED]
    stated_datasets = stated_datasets - verified_datasets
    unverified_datasets = by_state[RowState.UNVERIFIED] - verified_datasets - stated_datasets
    derived_datasets = by_state[RowState.DERIVED]
    unverified_datasets |= _select_derived(connection, derived_datasets, unverified_datasets, jobs)
    stated_datasets |= _select_derived(connection, derived_datasets - unverified_datasets, stated_datasets, jobs)
    return frozenset(unverified_datasets), frozenset(stated_datasets)


def _select_derived(
    connection: Connection,
    derived_datasets: Iterable[str],
    unverified_datasets: Iterable[str],
    jobs: Iterable[StoredJob],
) -> set[str]:
    """Return the derived datasets that have a task made of an episode on unverified rows."""
    dataset_of = {job.id: job.dataset for job in jobs if job.dataset}
    sources = {digest: _source_datasets(connection, digest, dataset_of) for digest in derived_datasets}
    results, bases = set[str](), set(unverified_datasets)
    while additions := {
        digest for digest, datasets in sources.items() if digest not in results and datasets & (bases | results)
    }:
        results |= additions
    return results


def _source_datasets(connection: Connection, digest: str, dataset_of: dict[str, str]) -> set[str]:
    """Return the datasets whose episodes became the tasks of this dataset."""
    return {dataset_of[job] for job in find_source_jobs(connection, digest) if job in dataset_of}
