"""Whether a job's rows are the published ones: only then its figure stands beside that of a paper.

The words are those of docs/benchmarks.md, "Verified rows".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection

from db.row_origins import StoredOrigin, load_row_origins
from lumos_queue.downloads.catalogue import GENERATED, has_split
from lumos_queue.formulations.stored_answer import NAME as STORED_ANSWER
from lumos_queue.row_origins.digests import ROW_DIGESTS

KINDS = ("evaluate", "infer", "convert")  #: of jobs whose rows were read
_JUDGED = "tooleval"  #: the benchmark whose rows are the runs of another job
STATED_REMARK = "rows stated to be the published ones"


class RowState(StrEnum):
    """What is known of a job's rows."""

    VERIFIED = "verified"  #: they are those of the published file, or made by this project's generator
    STATED = "stated"  #: a person stated with --published that they are the published ones
    UNVERIFIED = "not verified"
    OWN = "own"  #: of a person's own file
    PLUGIN = "plugin"  #: of a benchmark that a plug-in defines
    DERIVED = "derived"  #: made of stored episodes


_TEXTS = {
    RowState.STATED: "stated to be the published ones",
    RowState.OWN: "of your own file",
    RowState.PLUGIN: "of a plug-in",
    RowState.DERIVED: "made of stored episodes",
}


@dataclass(frozen=True, slots=True)
class RowOrigin:
    """Where a job's rows are from."""

    state: RowState
    published: str = ""  #: the name of the public file, or `generated`
    rows: int = 0  #: of the dataset
    first: int = 0  #: rows that the job has, where it has only the first ones; 0: all
    file_sha256: str = ""  #: of the file that they were read from; '': not known

    @property
    def counts(self) -> bool:
        """Whether a figure on these rows may stand beside a published one."""
        return self.state in (RowState.VERIFIED, RowState.STATED)

    @property
    def text(self) -> str:
        """In words: `verified (gsm8k/test.jsonl)`, `verified, the first 100 of 1,319 (gsm8k/test.jsonl)`."""
        told = _TEXTS.get(self.state, str(self.state))
        if self.first:
            told += f", the first {self.first:,} of {self.rows:,}"
        return f"{told} ({self.published})" if self.published else told

    def as_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {"state": str(self.state), "published": self.published, "text": self.text}
        values["file_sha256"] = self.file_sha256
        return values | ({"first": self.first, "of": self.rows} if self.first else {})


UNVERIFIED = RowOrigin(RowState.UNVERIFIED)  #: of a job of whose rows nothing is known


def read_row_origins(connection: Connection, jobs: Iterable[Any]) -> dict[str, RowOrigin]:
    """Return where the rows of these jobs (their rows) are from, by the job's id; jobs without rows have no entry."""
    jobs = [job for job in jobs if job.kind in KINDS and job.dataset]
    stored = load_row_origins(connection, (job.dataset for job in jobs))
    return {job.id: origin_of(job, stored.get(job.dataset)) for job in jobs}


def origin_of(job: Any, stored: StoredOrigin | None) -> RowOrigin:
    """Return where the rows of a job are from; `stored`: what is stored of its dataset."""
    request: Mapping[str, Any] = job.spec.get("infer", job.spec)
    rows, limit = stored.rows if stored else 0, request.get("limit", 0)
    first = limit if isinstance(limit, int) and 0 < limit < rows else 0
    published = published_rows(job.dataset, job.split, stored)
    state = _state_of(job, published, bool(request.get("published")))
    file_sha256 = stored.file_sha256 if stored else ""
    return RowOrigin(state, published if state == RowState.VERIFIED else "", rows, first, file_sha256)


def _state_of(job: Any, published: str, stated: bool) -> RowState:
    request: Mapping[str, Any] = job.spec.get("infer", job.spec)
    if job.origin == "derived" or job.benchmark == _JUDGED or request.get("formulation") == STORED_ANSWER:
        return RowState.DERIVED
    if request.get("definition"):
        return RowState.OWN
    if _is_of_plugin(job):
        return RowState.PLUGIN
    if published:
        return RowState.VERIFIED
    return RowState.STATED if stated else RowState.UNVERIFIED


def _is_of_plugin(job: Any) -> bool:
    """Whether a plug-in, or a module as jobs from before plug-ins name it, brings the job's benchmark."""
    return "." in job.benchmark or any(plugin.get("group") == "benchmarks" for plugin in job.plugins or ())


def published_rows(dataset: str, split: str, stored: StoredOrigin | None) -> str:
    """Return the public file whose rows of that split a dataset has, or `generated`; '' where that is not known."""
    known = ROW_DIGESTS.get(dataset)
    if known is None and stored is not None:
        known = stored.published, stored.split
    if known is None:
        return ""
    published, of_split = known
    fits = of_split == split if published == GENERATED else has_split(published, split)
    return published if fits else ""
