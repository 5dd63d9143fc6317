"""Find whether a job's rows are the published rows. If not, its figure cannot be compared with a paper's figure.

docs/benchmarks.md, "Verified rows", explains the states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queue.row_origins import StoredOrigin, load_row_origins
from db.queue.stored_jobs import StoredJob
from lumos_queue.downloads.catalogue import GENERATED, has_split
from lumos_queue.formulations.registry import is_of_episodes
from lumos_queue.records import Origin
from lumos_queue.row_origins.digests import ROW_DIGESTS

KINDS = (JobKind.EVALUATE, JobKind.INFER, JobKind.CONVERT)  #: kinds of jobs that read rows
STATED_REMARK = "rows stated to be the published ones"


class RowState(StrEnum):
    """What is known about the origin of a job's rows."""

    VERIFIED = "verified"  #: rows of the published file, or rows that this project's generator made
    STATED = "stated"  #: a person stated with --published that they are the published rows
    UNVERIFIED = "not verified"
    OWN = "own"  #: rows of the user's own file
    PLUGIN = "plugin"  #: rows of a benchmark that a plug-in defines
    DERIVED = "derived"  #: rows that were made from stored episodes


_TEXTS = {
    RowState.STATED: "stated to be the published ones",
    RowState.OWN: "of your own file",
    RowState.PLUGIN: "of a plug-in",
    RowState.DERIVED: "made of stored episodes",
}


@dataclass(frozen=True, slots=True)
class RowOrigin:
    """The origin of a job's rows: its state, the public file, and the number of rows."""

    state: RowState
    published: str = ""  #: the name of the public file, or `generated`
    rows: int = 0  #: number of rows of the dataset
    first: int = 0  #: number of the job's rows if it has only the first rows of the dataset; 0: all
    file_sha256: str = ""  #: sha256 of the file that they were read from; '': not known

    @property
    def counts(self) -> bool:
        """Whether a figure on these rows can be compared with a published figure."""
        return self.state in (RowState.VERIFIED, RowState.STATED)

    @property
    def text(self) -> str:
        """Return the origin as text: `verified, the first 100 of 1,319 (gsm8k/test.jsonl)`."""
        text = _TEXTS.get(self.state, str(self.state))
        if self.first:
            text += f", the first {self.first:,} of {self.rows:,}"
        return f"{text} ({self.published})" if self.published else text


UNVERIFIED = RowOrigin(RowState.UNVERIFIED)  #: the origin of unknown rows


def read_row_origins(connection: Connection, jobs: Iterable[StoredJob]) -> dict[str, RowOrigin]:
    """Return the origin of the rows of jobs, by job id; jobs without rows are left out."""
    jobs = [job for job in jobs if job.kind in KINDS and job.dataset]
    stored_origins = load_row_origins(connection, (job.dataset for job in jobs))
    return {job.id: origin_of(job, stored_origins.get(job.dataset or "")) for job in jobs}


def origin_of(job: StoredJob, stored_origin: StoredOrigin | None) -> RowOrigin:
    """Return the origin of a job's rows. `stored_origin`: the stored facts about its dataset, if there are any."""
    request: Mapping[str, Any] = job.spec.get("infer", job.spec)
    rows, limit = stored_origin.rows if stored_origin else 0, request.get("limit", 0)
    first = limit if isinstance(limit, int) and 0 < limit < rows else 0
    file_name = find_published_rows(job.dataset or "", job.split, stored_origin)
    state = _state_of(job, file_name, bool(request.get("published")))
    file_sha256 = stored_origin.file_sha256 if stored_origin else ""
    return RowOrigin(state, file_name if state == RowState.VERIFIED else "", rows, first, file_sha256)


def _state_of(job: StoredJob, file_name: str, is_stated: bool) -> RowState:
    request: Mapping[str, Any] = job.spec.get("infer", job.spec)
    if job.origin == Origin.DERIVED or is_of_episodes(request.get("formulation", "")):
        return RowState.DERIVED
    if request.get("definition"):
        return RowState.OWN
    if _is_of_plugin(job):
        return RowState.PLUGIN
    if file_name:
        return RowState.VERIFIED
    return RowState.STATED if is_stated else RowState.UNVERIFIED


def _is_of_plugin(job: StoredJob) -> bool:
    """Return whether the job's benchmark is from a plug-in. Jobs older than plug-ins name a module instead."""
    return "." in job.benchmark or any(plugin.get("group") == "benchmarks" for plugin in job.plugins or ())


def find_published_rows(dataset: str, split: str, stored_origin: StoredOrigin | None) -> str:
    """Return the public file that has these rows of the split, or `generated` for generated rows; '' if unknown."""
    origin = ROW_DIGESTS.get(dataset)
    if origin is None and stored_origin is not None:
        origin = stored_origin.published, stored_origin.split
    if origin is None:
        return ""
    file_name, file_split = origin
    fits = file_split == split if file_name == GENERATED else has_split(file_name, split)
    return file_name if fits else ""
