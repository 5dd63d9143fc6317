"""Read what the database knows about the episodes and tasks of a build: test splits, corrections, labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from db.engine.connection import Connection, Database
from db.engine.snapshot import reading
from db.queries.build_facts import find_corrected_episodes, list_splits, stream_questions
from db.queries.labels import find_wrong_episodes
from db.queue.row_origins import load_files
from lumos_queue.benchmarks.registry import is_test
from lumos_queue.builds.audited_strata import AuditedStrata
from lumos_queue.builds.contamination import NOT_CHECKED, text_key
from lumos_queue.builds.unverified_rows import find_unverified


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
            find_corrected_episodes(connection),
            find_wrong_episodes(connection),
            *find_unverified(connection),
            load_files(connection),
            audited,
        )


def _test_texts(connection: Connection) -> frozenset[bytes]:
    """Return the key of each task whose dataset is a test split of any job."""
    tests = [split for split in list_splits(connection) if is_test(*split)]
    return frozenset(text_key(question) for question in stream_questions(connection, tests))
