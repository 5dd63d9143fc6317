"""A new build: its form, the number of matching episodes, its preview, and the build itself."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from db.queries.trajectories import count_up_to
from db.queue.web_actions import PersonAction
from lumos_queue.builds.card import card
from lumos_queue.builds.folder import folder_of, read_manifest
from lumos_queue.builds.options import FORMATS, SELECTIONS
from lumos_queue.builds.progress import Tell
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import tool_agent_names, trainable_names
from lumos_queue.records import LEVELS
from lumos_queue.submission.build_request import make_build, preview_of, read_build_where
from lumos_queue.util.sanitize import storable
from lumos_queue.web.answers import answer_part
from lumos_queue.web.build_form import (
    MORE,
    OPTIONS,
    TICKED_SPLITS,
    BuildForm,
    describe_option,
    form_like,
    list_fetched_tests,
    read_form,
)
from lumos_queue.web.drafts import MOVING, Draft, DraftState
from lumos_queue.web.rendering import render, render_part
from lumos_queue.web.request_context import NotFound, Operating, OperatorReading, RequestContext
from lumos_queue.web.routes.builds import address_of_build, facts_of, find_build, truncate_card
from lumos_queue.web.sharing import share_jobs

router = APIRouter()
MAX_COUNT = 100_000  #: episodes counted for a filter


@router.get("/builds/new")
def form_page(visit: OperatorReading, where: str = "", like: str = "") -> Response:
    """The form; `like`: a build to copy the options from."""
    if like:
        return _form(visit, form_like(read_manifest(find_build(visit, like))["options"]))
    return _form(visit, BuildForm({"where": storable(where)[0]}))


@router.get("/builds/new/count")
async def count_part(visit: OperatorReading, where: str = "") -> Response:
    """The number of episodes that match a filter, up to a limit."""
    try:
        scope = await run_in_threadpool(read_build_where, visit.site.database, storable(where)[0])
        result = await share_jobs(
            visit, ("build", str(scope)), (), lambda connection: count_up_to(connection, scope, MAX_COUNT + 1)
        )
    except SpecError as error:
        return HTMLResponse(render_part("build_count.html", wrong=str(error)))
    values = {"most": MAX_COUNT, "wrong": "", "where": str(scope)}
    return await answer_part("build_count.html", result, lambda: {"found": result.value}, **values)


@router.post("/builds/new")
def preview(visit: Operating, form: Annotated[BuildForm, Depends(read_form)]) -> Response:
    """Begin a preview."""
    site = visit.site
    try:
        target = folder_of(site.settings, form["name"])
        options = form.read(site.database, site.settings, not site.login_method.asks_password)
        draft = Draft(form["name"], options, visit.person.name)

        def work(tell: Tell):
            return preview_of(site.database, draft.name, target, options, tell)

        site.drafts.add(draft, work)
    except SpecError as error:
        return _form(visit, form, str(error))
    return RedirectResponse(f"/builds/drafts/{draft.id}", 303)


@router.get("/builds/drafts/{identifier}")
def draft_page(visit: OperatorReading, identifier: str) -> Response:
    """The page of a draft, or its changing part for an open page."""
    draft = _require(visit.site.drafts.copy(identifier))
    part = _part(visit, draft)
    if "hx-request" in visit.request.headers:
        return HTMLResponse(part)
    return render(visit, "draft.html", draft=draft, part=part)


@router.post("/builds/drafts/{identifier}/build")
def build(visit: Operating, identifier: str) -> Response:
    """Make the previewed build. It fails if the preview is out of date."""
    site, draft = visit.site, _find(visit, identifier)
    target = folder_of(site.settings, draft.name)
    digest = (draft.manifest or {}).get("digest", "")

    action = PersonAction(visit.person.name, "build", draft.name)

    def work(tell: Tell):
        # The build is a folder. Its action is recorded first, so that no folder is without a person.
        with site.database.writer.begin() as connection:
            action.record(connection, f"{digest[:12]}, where {draft.options.where}")
        return make_build(site.database, draft.name, target, draft.options, tell, digest)

    site.drafts.build(draft, work)
    return RedirectResponse(f"/builds/drafts/{draft.id}", 303)


@router.post("/builds/drafts/{identifier}/stop")
def stop(visit: Operating, identifier: str) -> Response:
    draft = _find(visit, identifier)
    visit.site.drafts.stop_draft(draft)
    visit.session.add_notice(f"The draft of '{draft.name}' stops.")
    return RedirectResponse("/builds", 303)


def _find(visit: RequestContext, identifier: str) -> Draft:
    return _require(visit.site.drafts.find(identifier))


def _require(draft: Draft | None) -> Draft:
    if draft is None:
        raise NotFound("There is no such draft of a build: lumos web was restarted, or newer drafts replaced it.")
    return draft


def _part(visit: RequestContext, draft: Draft) -> str:
    manifest = draft.manifest if draft.state in (DraftState.PREVIEWED, DraftState.BUILT) else None
    facts = facts_of(manifest) if manifest else {}
    preview_card = truncate_card(card(manifest)) if manifest else ("", 0)
    return render_part(
        "draft_part.html",
        draft=draft,
        is_moving=draft.state in MOVING,
        manifest=manifest,
        card=preview_card,
        token=visit.session.token,
        address=address_of_build(draft.name),
        **facts,
    )


def _form(visit: RequestContext, form: BuildForm, wrong: str = "") -> Response:
    fetched_names = list_fetched_tests(visit.site.settings)
    return render(
        visit,
        "build_form.html",
        400 if wrong else 200,
        form=form,
        options=OPTIONS,
        more=MORE,
        ticked_splits=TICKED_SPLITS,
        describe=describe_option,
        wrong=wrong,
        formats=FORMATS,
        levels=LEVELS,
        selections=SELECTIONS,
        formulations=(*trainable_names(), *tool_agent_names()),
        fetched=fetched_names,
        others=[name for name in form.against if name not in fetched_names],
    )
