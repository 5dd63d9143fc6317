"""Run a stored job again: with the same request or with changes, on all of its rows or on chosen tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from db.engine.connection import Connection, Database
from db.kinds.job_kinds import JobKind
from db.kinds.name_and_tags import NameAndTags
from db.kinds.states import ItemState
from db.queries.filters import Filter
from db.queue.datasets import count_rows
from db.queue.figures import progress
from db.queue.new_jobs import NewJob
from db.queue.stored_jobs import StoredJob
from db.transfer.repeats import Part, Store, choose_tasks, create_repeat, store_chosen, store_first
from lumos_queue.commands import digest
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.new_job import make_new_job
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.records import Origin
from lumos_queue.reports.task_choice import is_by_outcome, remark_on_choice
from lumos_queue.settings import Settings
from lumos_queue.submission.filters import read_where
from lumos_queue.submission.job_request import check_inference, make_job_on, trust_named
from lumos_queue.submission.requests.checks import check_request
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.stored_request import change_request, check_kind, infer_of

Remark = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A job that is not yet stored, on stored rows."""

    new: NewJob
    dataset: str
    items: int
    store: Store
    max_items: int = 0  #: as of create_repeat
    message: str = ""  #: one line about it, once it is stored

    def with_name_and_tags(self, name_and_tags: NameAndTags) -> Repeat:
        return replace(self, new=replace(self.new, name=name_and_tags.name, tags=name_and_tags.tags))

    def create(self, database: Database, again: bool) -> tuple[str, bool]:
        return create_repeat(
            database, self.new, self.dataset, self.items, self.store, again=again, max_items=self.max_items
        )


def make_rerun(
    deployment: Deployment,
    job: StoredJob,
    changes: InferenceRequest,
    names: Collection[str],
    where: str,
    scheduling: Scheduling,
    remark: Remark,
) -> Repeat:
    """Return the job that runs `job` again; `where` filters its episodes.

    `names` are the fields of `changes` that are changed. With `where`, only tasks of matching episodes run again.
    Without a broker, request endpoints' identities here. Raises SpecError for a request that `lumos evaluate` would
    refuse, and if no task matches.
    """
    check_kind(job, "rerun")
    check_request(changes)
    trust_named(changes, "")
    if job.chosen and not where:
        raise SpecError(
            f"Job {job.id} ran chosen tasks of job {job.parent}. Choose them again: lumos rerun {job.parent} --where "
            f"'{job.chosen}'"
        )
    condition = read_where(deployment.database, where, job.id)
    infer = infer_of(job)
    if condition.terms and "limit" in names:
        raise SpecError("--where chooses the tasks, and --limit takes the first ones: give only one of them.")
    with deployment.database.engine.connect() as connection:
        parts = _choose(connection, job, condition) if where else None
        rows = count_rows(connection, infer.dataset)
    checked = check_inference(JobKind(job.kind), *change_request(infer, changes, names), remark)
    request = make_job_on(checked, infer.dataset, deployment, remark)
    inference = request.infer if isinstance(request, Evaluate) else request
    new = replace(_make_new(request, job, deployment.settings, scheduling), parent=job.id)
    if parts is None:
        tasks = min(inference.limit or rows, rows)
        return Repeat(new, infer.dataset, tasks * inference.samples, store_first(infer.dataset, tasks))
    new = replace(new, chosen=str(condition), digest=_digest_of(new, parts, is_by_outcome(condition)))
    if message := remark_on_choice(new.parent, new.chosen, new.benchmark):
        remark(message)
    return Repeat(new, infer.dataset, len(parts) * inference.samples, store_chosen(parts))


def _make_new(job: Job[Any], parent: StoredJob, settings: Settings, scheduling: Scheduling) -> NewJob:
    return make_new_job(
        job, settings, split=parent.split, licence=parent.licence, scheduling=scheduling, origin=Origin(parent.origin)
    )


def _choose(connection: Connection, job: StoredJob, condition: Filter) -> list[Part]:
    if not condition.terms:
        raise SpecError("--where is empty. Expected a filter such as score=0, or leave it out to run all tasks.")
    completed = progress(connection, job.id).get(ItemState.DONE, 0)
    if completed < job.items and not is_by_outcome(condition):
        raise SpecError(
            f"Job {job.id} has finished {completed:,} of its {job.items:,} items, and a filter finds only these. "
            f"Complete it first with: lumos resume {job.id}"
        )
    parts = choose_tasks(connection, job.id, condition)
    if not parts:
        raise SpecError(
            f"No finished episode of job {job.id} fits {condition}. Look at them with: lumos episodes --where "
            f"'job={job.id}'"
        )
    return parts


def _digest_of(new: NewJob, parts: Sequence[Part], by_outcome: bool) -> str:
    """Return the digest of a request and its chosen tasks. Equal digests mean the same job."""
    return digest("chosen", new.digest, "by outcome" if by_outcome else "", json.dumps([part.number for part in parts]))
