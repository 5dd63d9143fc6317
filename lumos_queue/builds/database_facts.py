"""Read what the database knows about the episodes and tasks of a build: test splits, corrections, labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, and_, exists, false, not_, or_, select
from sqlalchemy.orm import aliased

from db.engine.connection import Database
from db.engine.snapshot import reading
from db.models import Dataset, EpisodeRow, JobRow, Label, TaskRow
from db.queries.labels import VALUES
from lumos_queue.benchmarks.registry import is_test
from lumos_queue.builds.audited_strata import AuditedStrata
from lumos_queue.builds.contamination import NOT_CHECKED, text_key
from lumos_queue.builds.unverified_rows import find_unverified
from lumos_queue.records import Origin

BATCH_SIZE = 1000  #: task texts read at once


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """Facts about tasks, episodes and datasets; empty for a build whose episodes do not come from a database."""

    tests: frozenset[bytes] = frozenset()  #: text_key of every task of a job with a test split
    tests_read: bool = False
    corrected: frozenset[int] = frozenset()  #: episodes with a stored and accepted correction
    wrong: frozenset[int] = frozenset()  #: episodes that are wrong by a person's newest label, on them or on a step
    unverified: frozenset[str] = frozenset()  #: datasets whose rows may not be those of their benchmark
    stated_datasets: frozenset[str] = frozenset()  #: datasets whose rows a person stated to be the published ones
    #: The sha256 of the file that a dataset's rows were read from, by the dataset's digest, where it is known.
    files: Mapping[str, str] = field(default_factory=dict)
    audited: AuditedStrata | None = None  #: None: the build requires no measured precision

    def report(self) -> dict[str, Any]:
        """Return the part of a manifest about the stored test splits."""
        return {"stored here": {"rows": len(self.tests), "unreadable": 0} if self.tests_read else NOT_CHECKED}


def read_database_facts(database: Database, tests: bool = True, audited: AuditedStrata | None = None) -> DatabaseFacts:
    """Read the facts, and add `audited` to them. If not `tests`, the tasks of test splits are not read.

    Each test task, corrected episode and wrong episode takes an entry of eight bytes in memory.
    """
    with reading(database) as connection:
        return DatabaseFacts(
            _test_texts(connection) if tests else frozenset(),
            tests,
            _find_corrected_episodes(connection),
            _wrong_episodes(connection),
            *find_unverified(connection),
            _files_of_datasets(connection),
            audited,
        )


def _test_texts(connection: Connection) -> frozenset[bytes]:
    """Return the key of each task whose dataset is a test split of any job.

    The jobs' splits decide, because the same file may have been stored as another split first.
    """
    jobs = connection.execute(select(JobRow.benchmark, JobRow.split).distinct())
    tests = [pair for pair in jobs if is_test(*pair)]
    of_tests = or_(false(), *(and_(JobRow.benchmark == name, JobRow.split == split) for name, split in tests))
    datasets = select(JobRow.dataset).where(of_tests, JobRow.dataset.is_not(None))
    texts = select(TaskRow.question).where(TaskRow.dataset.in_(datasets)).distinct()
    questions = connection.execute(texts.execution_options(yield_per=BATCH_SIZE)).scalars()
    return frozenset(text_key(question) for question in questions)


def _find_corrected_episodes(connection: Connection) -> frozenset[int]:
    """Return the episodes that have an accepted correction.

    The query selects by the jobs of corrections, which have an index, because a pass over all episodes would be slow.
    """
    jobs = select(JobRow.id).where(JobRow.origin == Origin.CORRECTED)
    conditions = (EpisodeRow.level != "", EpisodeRow.ending != "")
    parents = connection.execute(select(EpisodeRow.parent).where(EpisodeRow.job.in_(jobs), *conditions)).scalars()
    return frozenset(parent for parent in parents if parent is not None)


def _wrong_episodes(connection: Connection) -> frozenset[int]:
    """Return the episodes that any person's newest label of the episode or of one of its steps calls wrong."""
    later = aliased(Label)
    newer_label = exists().where(
        later.episode == Label.episode,
        later.labeller == Label.labeller,
        later.id > Label.id,
        later.value.in_(VALUES),  # a rating replaces no label
        later.position.is_not_distinct_from(Label.position),
        later.branch.is_not_distinct_from(Label.branch),
    )
    wrong = select(Label.episode).where(Label.value == "wrong", not_(newer_label)).distinct()
    return frozenset(connection.execute(wrong).scalars())


def _files_of_datasets(connection: Connection) -> dict[str, str]:
    rows = connection.execute(select(Dataset.digest, Dataset.file_sha256).where(Dataset.file_sha256 != ""))
    return {digest: sha256 for digest, sha256 in rows}
