"""Correct an episode: edit its annotation as text, preview the changes by running them, and store them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import RedirectResponse, Response

from db.engine.snapshot import reading
from db.queue.web_actions import PersonAction
from db.review.corrections import find_correction
from lumos_queue.errors import SpecError
from lumos_queue.notation import write_annotation
from lumos_queue.review.corrections import CheckedCorrection, Limits, annotation_text, check_correction, correct
from lumos_queue.review.edits import Changes
from lumos_queue.util.sanitize import storable
from lumos_queue.web.page_work import Budget
from lumos_queue.web.rendering import render
from lumos_queue.web.request_context import Annotating, AnnotatorReading, RequestContext
from lumos_queue.web.routes.episode import episode_path, find_trajectory
from lumos_queue.web.views.text_difference import compare_lines

router = APIRouter()
MAX_TEXT = 200_000  #: characters of an annotation
MAX_ACTIONS = 200  #: of an annotation that a page runs


@router.get("/episodes/{name}/correct")
def correction_page(visit: AnnotatorReading, name: str, where: str = "") -> Response:
    """The annotation of an episode in an editor."""
    whole = _whole_name(visit, name)
    try:
        text, wrong = annotation_text(visit.site.database, whole), ""
    except SpecError as error:  # without an annotation, the person can write a whole one
        text, wrong = "", str(error)
    return _page(visit, whole, where, text, wrong)


@router.post("/episodes/{name}/correct/preview")
async def preview(
    visit: Annotating, name: str, text: Annotated[str, Form()] = "", where: Annotated[str, Form()] = ""
) -> Response:
    """Run and check the changes without storing them."""
    return await visit.site.page_work.run(
        visit.request, visit.person.name, lambda budget: _preview(visit, name, text, where, budget)
    )


def _preview(visit: RequestContext, name: str, text: str, where: str, budget: Budget) -> Response:
    whole, text = _whole_name(visit, name), _plain_lines(text)
    try:
        return _page(visit, whole, where, text, check=_check(visit, whole, text, budget))
    except SpecError as error:
        return _page(visit, whole, where, text, str(error))


@router.post("/episodes/{name}/correct")
async def store(
    visit: Annotating, name: str, text: Annotated[str, Form()] = "", where: Annotated[str, Form()] = ""
) -> Response:
    """Run and check the changes again, and store them as a new episode.

    A form that is sent twice leads to the stored episode.
    """
    return await visit.site.page_work.run(
        visit.request, visit.person.name, lambda budget: _store(visit, name, text, where, budget)
    )


def _store(visit: RequestContext, name: str, text: str, where: str, budget: Budget) -> Response:
    whole, text = _whole_name(visit, name), _plain_lines(text)
    site, person = visit.site, visit.person
    with reading(site.database) as connection:
        parent = find_trajectory(connection, whole).episode.id
        existing = find_correction(connection, parent, person.name, storable(text)[0])
    if existing:
        visit.session.add_notice(f"This correction is stored already: {existing}.")
        return RedirectResponse(episode_path(existing), 303)
    try:
        _check_text(text)
        action = PersonAction(person.name, "correct", whole)
        settings, limits = site.settings_of(person), _limits(budget)
        correction = correct(site.database, settings, whole, Changes(text=text), action=action, limits=limits)
    except SpecError as error:
        return _page(visit, whole, where, text, str(error))
    visit.session.add_notice(
        f"The correction is stored as {correction.episode}: {correction.level or 'accepted for no module'}."
    )
    return RedirectResponse(episode_path(correction.episode), 303)


def _whole_name(visit: RequestContext, name: str) -> str:
    with reading(visit.site.database) as connection:
        trajectory = find_trajectory(connection, name)
    return f"{trajectory.job.id}-{trajectory.item.ordinal}"


def _check(visit: RequestContext, name: str, text: str, budget: Budget) -> CheckedCorrection:
    _check_text(text)
    return check_correction(visit.site.database, name, Changes(text=text), _limits(budget))


def _limits(budget: Budget) -> Limits:
    return Limits(MAX_ACTIONS, budget.run)


def _check_text(text: str) -> None:
    """Raise SpecError for a text that is empty or too long."""
    if not text.strip():
        raise SpecError("The annotation is empty: write its subgoals and actions, one on each line.")
    if len(text) > MAX_TEXT:
        raise SpecError(f"The annotation has {len(text):,} characters: expected at most {MAX_TEXT:,}. Shorten it.")


def _plain_lines(text: str) -> str:
    """The text with `\\n` as line ends: browsers send `\\r\\n`."""
    return text.replace("\r\n", "\n")


def _page(
    visit: RequestContext, name: str, where: str, text: str, wrong: str = "", check: CheckedCorrection | None = None
) -> Response:
    lines = None
    if check:
        lines = compare_lines(write_annotation(check.before), write_annotation(check.after))
    return render(
        visit,
        "correct.html",
        400 if wrong and visit.request.method == "POST" else 200,
        name=name,
        where=where,
        text=text,
        wrong=wrong,
        checked=check,
        lines=lines,
    )
