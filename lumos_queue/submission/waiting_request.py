"""Build the job that sends the waiting rows of a conversion by rule to a teacher, with `lumos convert --waiting JOB`.

The rows, their drafts and the reasons why they wait are read from the stored job, so no file is needed. The drafts are
stored as an artifact of the rows' dataset: the job also ends, with the same prompts, if the rules or that job change.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

from db.engine.connection import Connection, Database
from db.journal.artifacts import name_artifact, store_artifact
from db.kinds.states import ItemState
from db.queries.filters import Filter, Term
from db.queries.trajectories import StoredEpisode, stream_episodes
from db.queue.figures import progress
from db.queue.stored_jobs import StoredJob
from db.transfer.repeats import Part, choose_tasks, store_chosen
from lumos_queue.benchmarks.registry import open_source
from lumos_queue.builds.annotations import annotation_of
from lumos_queue.commands import digest
from lumos_queue.conversion.drafts import MEDIA_TYPE, Draft, write_drafts
from lumos_queue.conversion.teacher import WAITING_PROMPTS
from lumos_queue.errors import SpecError
from lumos_queue.jobs.convert import TEACHER_CHECKS, Convert
from lumos_queue.jobs.new_job import make_new_job
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.notation import write_annotation
from lumos_queue.records import Origin
from lumos_queue.reports.conversion_outcomes import UNSURE
from lumos_queue.settings import Settings
from lumos_queue.submission.agents import identify, resolve_address
from lumos_queue.submission.conversion_request import apply_request, check_conversion
from lumos_queue.submission.requests import file_fields
from lumos_queue.submission.requests.checks import check_request
from lumos_queue.submission.requests.conversion import ConversionRequest
from lumos_queue.submission.requests.option import list_changed
from lumos_queue.submission.rerun import Repeat
from lumos_queue.util.plugins import TRUSTED

_OF_STORED_ROWS = ("data", "split", "subgoals", "vision", "skip_bad_rows", "options", "published", *file_fields.NAMES)


def check_stored_rows(request: ConversionRequest) -> None:
    """Raises SpecError for options about the rows or their form, because the rows of the waiting job are stored."""
    if flags := [option.flag for option in list_changed(request) if option.field in _OF_STORED_ROWS]:
        raise SpecError(f"--waiting takes the stored rows of job {request.waiting}: leave out {', '.join(flags)}.")


def make_waiting_job(
    database: Database,
    settings: Settings,
    job: StoredJob,
    request: ConversionRequest,
    scheduling: Scheduling,
    remark: Callable[[str], None],
) -> Repeat:
    """Return the job that converts the waiting rows of `job` (a row of the table) by a teacher.

    Without a broker, request the teacher's identity here. Raises SpecError for invalid options, for another job than a
    complete conversion of this source by rule, and if none of its rows waits.
    """
    check_request(request)
    conversion = _read_conversion(job)
    if request.source and request.source != conversion.source:
        raise SpecError(
            f"Job {job.id} is a conversion of '{conversion.source}', not of '{request.source}': leave out "
            f"'{request.source}', or name a conversion of it."
        )
    if not request.teacher or request.deterministic:
        raise SpecError(f"The rows of job {job.id} wait for a teacher: give --teacher URL, and not --deterministic.")
    TRUSTED.add_named("" if conversion.definition else conversion.source, request.teacher)
    source = open_source(conversion.source, conversion.definition)
    if not source.teacher_prompt:
        raise SpecError(f"'{conversion.source}' has no prompt for a teacher: its waiting rows need a person.")
    check_conversion(request)
    waiting = Filter((Term("job", "=", job.id), Term("verdict", "=", UNSURE)))
    with database.engine.connect() as connection:
        _check_complete(connection, job)
        parts = choose_tasks(connection, job.id, waiting)[: request.limit or None]
    if not parts:
        raise SpecError(f"No row of job {job.id} waits: it has no verdict '{UNSURE}'.")
    teacher = resolve_address(request.teacher, bool(settings.broker_url))
    if not settings.broker_url:
        asyncio.run(identify({teacher}, settings, remark))
    drafts = write_drafts({episode.task.row: _read_draft(episode) for episode in stream_episodes(database, waiting)})
    with database.writer.begin() as connection:
        artifact = store_artifact(connection, drafts, MEDIA_TYPE)
        name_artifact(connection, conversion.dataset, artifact)
    rows = Convert(
        source=conversion.source,
        dataset=conversion.dataset,
        split=conversion.split,
        subgoals=conversion.subgoals,
        rule_version=source.newest_rules,
        definition=conversion.definition,
        published=conversion.published,
        teacher_checks=TEACHER_CHECKS,
        waiting=job.id,
        drafts=artifact,
        waiting_prompt=WAITING_PROMPTS,
        duplicates=_find_duplicates(conversion, parts),
    )
    new = make_new_job(
        apply_request(rows, request, teacher),
        settings,
        split=job.split,
        licence=job.licence,
        scheduling=scheduling,
        origin=Origin(job.origin),
    )
    new = replace(
        new,
        parent=job.id,
        chosen=f"verdict={UNSURE}",
        digest=digest("waiting", new.digest, json.dumps([part.number for part in parts])),
    )
    message = f"{len(parts):,} waiting rows of job {job.id} are sent to the teacher"
    return Repeat(new, conversion.dataset, len(parts), store_chosen(parts), message=message)


def _read_conversion(job: StoredJob) -> Convert:
    if job.kind != Convert.kind:
        raise SpecError(f"Job {job.id} is no conversion ({job.kind}): --waiting is for jobs of lumos convert.")
    if job.spec.get("teacher"):
        raise SpecError(
            f"Job {job.id} was converted by a teacher: --waiting takes a conversion by rule (--deterministic)."
        )
    return Convert.from_json(job.spec)


def _check_complete(connection: Connection, job: StoredJob) -> None:
    completed = progress(connection, job.id).get(ItemState.DONE, 0)
    if completed < job.items:
        raise SpecError(
            f"Job {job.id} ({job.state}) has finished {completed:,} of its {job.items:,} rows, and more may wait. "
            f"Complete it first with: lumos resume {job.id}"
        )


def _find_duplicates(conversion: Convert, parts: list[Part]) -> tuple[int, ...]:
    """Return the ordinals of the rows whose task is also in an earlier row of the conversion by rule."""
    duplicates = frozenset(conversion.duplicates)
    return tuple(ordinal for ordinal, part in enumerate(parts) if part.number in duplicates)


def _read_draft(episode: StoredEpisode) -> Draft:
    annotation = annotation_of(episode.steps, episode.answer)
    text = write_annotation(annotation.steps) if annotation else ""
    return Draft(text, next(verdict.detail for verdict in episode.verdicts if verdict.name == UNSURE))
