"""The page of actions: changes that people made in the explorer."""

from __future__ import annotations

import re
from urllib.parse import quote

from fastapi import APIRouter
from starlette.responses import Response

from db.queries.web_actions import list_actions
from lumos_queue.web.rendering import render
from lumos_queue.web.request_context import OperatorReading
from workers.validation import JOB_ID

router = APIRouter()
PAGE = 100  #: actions
_EPISODE = re.compile(rf"{JOB_ID.pattern}-\d+")


@router.get("/actions")
def actions_page(visit: OperatorReading, before: int = 0) -> Response:
    """The actions, the newest first."""
    with visit.site.reading() as connection:
        rows = list_actions(connection, PAGE + 1, min(max(before, 0), 2**63 - 1))
    actions = [(row, address_of(row.action, row.target)) for row in rows[:PAGE]]
    return render(visit, "actions.html", actions=actions, more=len(rows) > PAGE)


def address_of(action: str, target: str) -> str:
    """Return the address of the page of an action's target; '' if it has no page."""
    if action == "build":
        return f"/builds/{quote(target, safe='')}"
    if action == "cap":
        return "/endpoints"
    if JOB_ID.fullmatch(target):
        return f"/jobs/{target}"
    return f"/episodes/{target}" if _EPISODE.fullmatch(target) else ""
