"""Audits: the list, a new audit, and the labels of an audit with their report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, UploadFile
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from db.engine.connection import Connection
from db.queries.changes import Change, find_audit_change
from db.queries.step_locations import StepLocator
from db.queue.web_actions import PersonAction
from db.review.audit_progress import list_audits, list_labelled_slots, progress_by_person
from db.review.audit_strata import count_members
from db.review.audits import sample_audit, samples_of
from db.review.labels import add_labels, new_labels
from lumos_queue.errors import SpecError, unknown
from lumos_queue.reports.audit import make_audit_report
from lumos_queue.review.label_export import FORMATS, stream_labels
from lumos_queue.review.label_files import parse_labels
from lumos_queue.scoring.sampling import AuditKind
from lumos_queue.submission.filters import read_where
from lumos_queue.util.sanitize import storable
from lumos_queue.util.wording import format_bytes, plural
from lumos_queue.web.addresses import address_of_audit
from lumos_queue.web.answers import answer_part, download
from lumos_queue.web.rendering import render, render_part
from lumos_queue.web.request_context import Operating, OperatorReading, Reading, RequestContext
from lumos_queue.web.routes.annotate import find_audit
from lumos_queue.web.routes.jobs import find_job
from lumos_queue.web.shared_results import SharedResult
from lumos_queue.web.sharing import share, share_jobs

router = APIRouter()
PAGE = 50  #: audits, or places
MAX_POPULATION = 200_000  #: of an audit drawn here: larger ones take long and need the command line
MAX_EXPORT = 2_000  #: places, each with its episode
MAX_UPLOAD = 16_000_000  #: bytes of a file of labels: less than the limit of a request
MAX_SIZE, MAX_SEED = 100_000, 2**31 - 1


@router.get("/annotate")
def audits_page(visit: Reading, before: str = "") -> Response:
    """The newest audits and their progress."""
    with visit.site.reading() as connection:
        audits = list_audits(connection, PAGE + 1, storable(before)[0])
    return render(visit, "audits.html", audits=audits[:PAGE], more=len(audits) > PAGE, address=address_of_audit)


@router.get("/annotate/new")
def new_page(visit: OperatorReading, where: str = "", kind: str = "") -> Response:
    """The form of a new audit: first its population, then the rest."""
    return _new(visit, storable(where)[0], storable(kind)[0])


@router.get("/annotate/new/count")
async def count_part(visit: OperatorReading, where: str = "", kind: str = AuditKind.ANNOTATIONS) -> Response:
    """The size of a new audit's population, up to a limit."""
    try:
        scope = await run_in_threadpool(read_where, visit.site.database, storable(where)[0])
        of = _read_kind(kind)
        result = await share_jobs(
            visit,
            ("audit", str(scope), of),
            (),
            lambda connection: count_members(connection, scope, of, MAX_POPULATION),
        )
    except SpecError as error:
        values = {"count": 0, "most": MAX_POPULATION, "wrong": str(error), "age": ""}
        return HTMLResponse(render_part("audit_count.html", **values))
    return await answer_part("audit_count.html", result, lambda: {"count": result.value}, most=MAX_POPULATION, wrong="")


@router.post("/annotate/new")
async def sample_new_audit(
    visit: Operating,
    name: Annotated[str, Form(max_length=1_000)] = "",
    where: Annotated[str, Form(max_length=10_000)] = "",
    kind: Annotated[str, Form(max_length=100)] = AuditKind.ANNOTATIONS,
    size: Annotated[int, Form(ge=1, le=MAX_SIZE)] = 100,
    twice: Annotated[float, Form(ge=0, le=1)] = 0.0,
    seed: Annotated[int, Form(ge=0, le=MAX_SEED)] = 0,
) -> Response:
    """Draw a new audit."""
    inputs = {"name": name.strip(), "size": size, "twice": twice, "seed": seed}
    return await visit.site.page_work.run(
        visit.request, visit.person.name, lambda _: _sample(visit, storable(where)[0], storable(kind)[0], inputs)
    )


def _sample(visit: RequestContext, where: str, kind: str, inputs: dict[str, Any]) -> Response:
    site, name = visit.site, inputs["name"]
    try:
        of, scope = _read_kind(kind), read_where(site.database, where)
        with site.reading() as connection:
            if count_members(connection, scope, of, MAX_POPULATION) > MAX_POPULATION:
                raise SpecError(
                    f"More than {MAX_POPULATION:,} episodes match this filter: give a narrower one, or draw the audit "
                    "with: lumos audit draw"
                )
        action = PersonAction(visit.person.name, "draw audit", name)
        sample = sample_audit(site.database, name, scope, inputs["size"], inputs["seed"], of, inputs["twice"], action)
    except SpecError as error:
        return _new(visit, where, kind, str(error), **inputs | {"name": storable(name)[0]})
    visit.session.add_notice(f"The audit has {plural(len(sample), 'place')}.")
    return RedirectResponse(address_of_audit(name), 303)


@router.get("/annotate/{name}/labels")
def labels_page(visit: Reading, name: str, after: int = 0) -> Response:
    """All labels with their notes, and their report."""
    after = min(max(after, 0), MAX_SEED)
    with visit.site.reading() as connection:
        audit = find_audit(connection, name)
        rows = list_labelled_slots(connection, audit.name, PAGE + 1, after)
        faults = _describe_faults(StepLocator(connection), [label for row in rows for label in row.labels])
    page_rows = [(row, _is_hidden(visit, row)) for row in rows[:PAGE]]
    return render(
        visit,
        "audit_labels.html",
        audit=audit,
        places=page_rows,
        faults=faults,
        more=len(rows) > PAGE,
        formats=tuple(FORMATS),
        address=address_of_audit(audit.name),
        max_bytes=MAX_UPLOAD,
    )


@router.get("/annotate/{name}/report")
async def audit_report(visit: Reading, name: str) -> Response:
    """The report of the labels: measures, people and agreement. It is a part of the page of labels, or a whole page."""

    def find_change(connection: Connection) -> Change:
        return find_audit_change(connection, find_audit(connection, name).name)

    result = await share(visit, ("audit report", name), find_change, lambda connection: _read_report(connection, name))
    return await run_in_threadpool(_show_report, visit, result)


def _read_report(connection: Connection, name: str) -> dict[str, Any]:
    audit = find_audit(connection, name)
    report = make_audit_report(audit, samples_of(connection, audit.name))
    return {"audit": audit, "report": report, "people": progress_by_person(connection, audit.name)}


def _show_report(visit: RequestContext, result: SharedResult) -> Response:
    values = result.value
    audit = values["audit"]
    if "hx-request" in visit.request.headers:
        return HTMLResponse(render_part("audit_report_part.html", **values))
    return render(visit, "audit_report.html", address=address_of_audit(audit.name), **values)


@router.post("/annotate/{name}/labels")
async def store_file(visit: Operating, name: str, file: Annotated[UploadFile, File()]) -> Response:
    """Store all labels of a file, or none if one is wrong."""
    data, file_name = await file.read(MAX_UPLOAD + 1), storable(file.filename or "the file")[0][:100]
    return await visit.site.page_work.run(
        visit.request, visit.person.name, lambda _: _store_file(visit, name, data, file_name)
    )


def _store_file(visit: RequestContext, name: str, data: bytes, file_name: str) -> Response:
    if len(data) > MAX_UPLOAD:
        raise SpecError(
            f"'{file_name}' has more than {format_bytes(MAX_UPLOAD)}: store it with lumos audit label --from."
        )
    with visit.site.reading() as connection:
        audit = find_audit(connection, name)
        samples = samples_of(connection, audit.name)
        locate = StepLocator(connection).locate
        labels = new_labels(connection, parse_labels(data, file_name, audit.name, samples, visit.person.name, locate))
    action = PersonAction(visit.person.name, "store labels", audit.name)
    add_labels(visit.site.database, labels, action, f"{len(labels):,} from '{file_name}'")
    visit.session.add_notice(
        f"{plural(len(labels), 'label is', 'labels are')} stored." if labels else "The file has no new label."
    )
    return RedirectResponse(address_of_audit(audit.name, "labels"), 303)


@router.get("/annotate/{name}/export")
def export_labels(visit: OperatorReading, name: str, format: str = "label-studio") -> Response:
    """The places and their labels, as a file for another program."""
    if format not in FORMATS:
        raise unknown("format", format[:40], FORMATS)
    with visit.site.reading() as connection:
        audit = find_audit(connection, name)
        samples = samples_of(connection, audit.name)
        if len(samples) > MAX_EXPORT:
            raise SpecError(
                f"The audit has {len(samples):,} places, and a page writes up to {MAX_EXPORT:,}: write them with "
                "lumos audit export."
            )
        for job in sorted({sample.name.rpartition("-")[0] for sample in samples}):
            find_job(connection, job)  # a damaged one is refused before the file begins
    chunks = stream_labels(visit.site.database, audit.name, samples, format)
    return download(visit, chunks, "application/json", f"{audit.name}.{format}.json")


def _new(visit: RequestContext, where: str, kind: str, wrong: str = "", **inputs: Any) -> Response:
    if kind and not wrong:
        try:
            _read_kind(kind)
            read_where(visit.site.database, where)
        except SpecError as error:
            wrong = str(error)
    values = {"name": "", "size": 100, "twice": 0.2, "seed": 0} | inputs
    is_ready = bool(kind) and (not wrong or bool(inputs))
    return render(
        visit,
        "audit_new.html",
        400 if wrong else 200,
        where=where,
        kind=kind or AuditKind.ANNOTATIONS,
        wrong=wrong,
        is_ready=is_ready,
        kinds=tuple(AuditKind),
        max_size=MAX_SIZE,
        max_seed=MAX_SEED,
        **values,
    )


def _read_kind(kind: str) -> AuditKind:
    if kind not in tuple(AuditKind):
        raise unknown("kind of audit", kind[:40], AuditKind)
    return AuditKind(kind)


def _describe_faults(locator: StepLocator, labels: Sequence[Any]) -> dict[int, str]:
    """Return the fault of each label that names a step or kind, such as ` (step 2-1, number)`, by the label's id."""
    faults: dict[int, str] = {}
    for label in labels:
        step = locator.name(label.episode, label.wrong_position, label.wrong_branch)
        if step or label.wrong_kind:
            faults[label.id] = f" ({', '.join(filter(None, [f'step {step}' if step else '', label.wrong_kind]))})"
    return faults


def _is_hidden(visit: RequestContext, row: Any) -> bool:
    """Whether the labels of other people stay hidden, because the person can still label the place."""
    has_label = any(label.labeller == visit.person.name for label in row.labels)
    return visit.may("annotator") and row.labels_left > 0 and not has_label
