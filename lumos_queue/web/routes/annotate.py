"""Label the places of an audit one after another, with the keyboard only."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form
from starlette.responses import HTMLResponse, RedirectResponse, Response

from db.engine.connection import Connection
from db.queries.episode_names import trajectory_of
from db.queries.labels import KINDS, VALUES
from db.queries.step_names import name_steps
from db.review.audit_progress import count_left, count_own
from db.review.audits import StoredAudit, get_audit
from db.review.reservations import ReservedSlot, Turn, reserve_next, skip_place, store_label, take_back_label
from lumos_queue.errors import SpecError
from lumos_queue.notation import strip_label, write_action
from lumos_queue.pages.limits import PageLimits, truncate
from lumos_queue.pages.sections.failures import read_episode, show_pictures
from lumos_queue.pages.trajectories import ShownEpisode, show_episode
from lumos_queue.records import Subgoal
from lumos_queue.review.suggestions import read_suggestions, without_suggestions
from lumos_queue.scoring.sampling import AuditKind
from lumos_queue.util.sanitize import storable
from lumos_queue.web.addresses import address_of_audit
from lumos_queue.web.rendering import render, render_part
from lumos_queue.web.request_context import Annotating, AnnotatorReading, NotFound, RequestContext

router = APIRouter()
#: Of an episode to label. It has no prompts, so that the next page loads quickly.
LIMITS = PageLimits(text=6_000, prompt=0, steps=200, pictures=1_000_000, shows_counterparts=False, rows=0, points=0)
MAX_NOTE = 4_000  #: characters
MAX_STEP = 100  #: characters of a step in the list of steps
KEYS = dict(zip(("1", "2", "3"), VALUES, strict=True))
KIND_KEYS = dict(zip(("4", "5", "6", "7", "8"), KINDS, strict=True))
Place = Annotated[int, Form(ge=1, le=2**31 - 1)]
Token = Annotated[str, Form(max_length=100)]


@router.get("/annotate/{name}")
def annotate_page(visit: AnnotatorReading, name: str) -> Response:
    """The next place, which is reserved for the person."""
    audit = _find(visit, name)
    turn = reserve_next(visit.site.database, audit.name, visit.person.name)
    return render(visit, "annotate.html", **_values(visit, audit, turn))


@router.post("/annotate/{name}/label")
def label_place(
    visit: Annotating,
    name: str,
    place: Place,
    reservation: Token,
    value: Annotated[str, Form(max_length=100)] = "",
    note: Annotated[str, Form(max_length=2 * MAX_NOTE)] = "",
    step: Annotated[str, Form(max_length=100)] = "",
    kind: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Store a label, and answer with the next place. `step` and `kind` are the fault of a label `wrong`."""
    note = note.strip()
    if len(note) > MAX_NOTE:
        raise SpecError(f"A note has at most {MAX_NOTE:,} characters: this one has {len(note):,}.")
    audit, person = _find(visit, name), visit.person.name
    turn = store_label(visit.site.database, audit.name, person, place, reservation, value, note, step, kind)
    fault = ", ".join(filter(None, [f"step {step}" if step else "", kind]))
    message = f"Place {turn.number}: {turn.value}" + (f" ({fault})" if fault else "")
    return _answer(visit, audit, turn, message, suggests=True)


@router.post("/annotate/{name}/skip")
def skip(visit: Annotating, name: str, place: Place, reservation: Token) -> Response:
    """Postpone a place, and answer with the next place."""
    audit = _find(visit, name)
    turn = skip_place(visit.site.database, audit.name, visit.person.name, place, reservation)
    return _answer(visit, audit, turn, f"Place {turn.number} will return at the end")


@router.post("/annotate/{name}/undo")
def undo(visit: Annotating, name: str) -> Response:
    """Take back the person's newest label, and show its place again."""
    audit = _find(visit, name)
    turn = take_back_label(visit.site.database, audit.name, visit.person.name)
    return _answer(visit, audit, turn, f"Place {turn.number}: the label '{turn.value}' is taken back")


def find_audit(connection: Connection, name: str) -> StoredAudit:
    """Return the audit with this name. Raises NotFound."""
    try:
        return get_audit(connection, storable(name)[0])
    except SpecError as error:
        raise NotFound(str(error)) from None


def _find(visit: RequestContext, name: str) -> StoredAudit:
    with visit.site.reading() as connection:
        return find_audit(connection, name)


def _answer(visit: RequestContext, audit: StoredAudit, turn: Turn, message: str, suggests: bool = False) -> Response:
    """The outcome of a form and the next place: as a part for an open page, otherwise as the whole page."""
    if turn.problem:
        message = turn.problem
    elif suggests and turn.episode is not None:
        with visit.site.reading() as connection:
            message = "; ".join([message, *read_suggestions(connection, turn.episode, audit.kind)])
    message = message if message.endswith(".") else message + "."
    if "hx-request" in visit.request.headers:
        values = _values(visit, audit, turn) | {"told": message, "wrong": bool(turn.problem)}
        return HTMLResponse(render_part("annotate_answer.html", visit=visit, token=visit.session.token, **values))
    visit.session.add_notice(message, bool(turn.problem))
    return RedirectResponse(address_of_audit(audit.name), 303)


def _values(visit: RequestContext, audit: StoredAudit, turn: Turn) -> dict[str, Any]:
    """The values for the templates of a place."""
    names_faults = audit.kind == AuditKind.ANNOTATIONS
    with visit.site.reading() as connection:
        return {
            "audit": audit,
            "reserved": turn.next,
            "shown": _show(connection, turn.next) if turn.next else None,
            "own": count_own(connection, audit.name, visit.person.name),
            "left": count_left(connection, audit.name),
            "keys": KEYS,
            "kind_keys": KIND_KEYS,
            "steps": _list_steps(connection, turn.next) if names_faults and turn.next else None,
            "max_note": MAX_NOTE,
        }


def _list_steps(connection: Connection, reservation: ReservedSlot) -> list[tuple[str, str]]:
    """Return (name, text) of the steps that a label can name."""
    steps = name_steps(trajectory_of(connection, reservation.episode).steps)
    return [
        (name, truncate(strip_label(step.text) if isinstance(step, Subgoal) else write_action(step), MAX_STEP))
        for name, step in steps[: LIMITS.steps]
    ]


def _show(connection: Connection, reservation: ReservedSlot) -> ShownEpisode:
    """The episode without scores, checks and the labels of other people."""
    episode = read_episode(connection, trajectory_of(connection, reservation.episode))
    pictures, _ = show_pictures(episode, LIMITS.pictures)
    return show_episode(without_suggestions(episode.report), "", LIMITS, pictures)
