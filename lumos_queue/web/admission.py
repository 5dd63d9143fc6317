"""What a request may do before its body is read, by its route and its session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fastapi import APIRouter, Request
from starlette.routing import Match
from starlette.types import Scope

from lumos_queue.web.access.bodies import Terms
from lumos_queue.web.app_state import get_app_state
from lumos_queue.web.request_context import find_session, role_of_route


class Admission:
    """Finds the terms of requests."""

    def __init__(self, routers: Iterable[APIRouter], uploads: Iterable[Callable[..., Any]]):
        """`uploads`: the functions whose routes receive files."""
        self._routes, self._uploads = [route for router in routers for route in router.routes], frozenset(uploads)

    def find_terms(self, request: Request) -> Terms:
        """Return the terms of a request, without reading its body. A page that does not exist needs no login."""
        limits, session = get_app_state(request).connections.limits, find_session(request)
        route = self._find_route(request.scope)
        if session is None:
            needs_login = route is not None and role_of_route(route) is not None
            return Terms("", needs_login, limits.request_bytes, max_discarded=limits.request_bytes)
        is_upload = route is not None and route.endpoint in self._uploads
        return Terms(
            session.person,
            needs_login=False,
            max_bytes=limits.upload_bytes if is_upload else limits.body_bytes,
            max_bodies=limits.bodies_of_person,
            max_discarded=2 * limits.upload_bytes,
        )

    def _find_route(self, scope: Scope) -> Any | None:
        return next((route for route in self._routes if route.matches(scope)[0] == Match.FULL), None)
