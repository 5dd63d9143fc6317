"""The person of a request. Every route names the role that it needs, and every form sends its session's token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Form, Header, Request

from lumos_queue.web.access.sessions import Session
from lumos_queue.web.access.users import Person, Role
from lumos_queue.web.app_state import AppState, get_app_state


class NeedsLogin(Exception):
    """Raised for a request without a session, or for a person without access."""


class Forbidden(Exception):
    """Raised for a request that this person may not make. The text states the reason."""


class NotFound(Exception):
    """Raised for an address of which the subject does not exist. The text names the alternatives."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A permitted request of a person."""

    request: Request
    site: AppState
    person: Person
    session: Session

    def is_current(self) -> bool:
        """Return whether the person is still logged in with this role. An answer that lasts long asks this again."""
        person = self.site.login_method.find(self.person.name)
        return person == self.person and self.site.sessions.is_open(self.session)

    def may(self, role: str) -> bool:
        """Return whether the person has this role, or a role that includes it."""
        return self.person.role.includes(Role(role))


def find_session(request: Request) -> Session | None:
    """Return the session of a request, by its cookie."""
    site = get_app_state(request)
    return site.sessions.find(request.cookies.get(site.cookie, ""))


def find_request_context(request: Request) -> RequestContext:
    """Return the request with its person and session. Raises NeedsLogin if nobody has logged in."""
    site, session = get_app_state(request), find_session(request)
    person = site.login_method.find(session.person) if session else None
    if session is None or person is None or person.credential != session.credential:
        raise NeedsLogin
    return RequestContext(request, site, person, session)


def _reader_with(role: Role) -> Callable[..., RequestContext]:
    def require(request: Request) -> RequestContext:
        return _check_role(find_request_context(request), role)

    require.role = role  # type: ignore[attr-defined]  # a test lists the role of every route
    return require


def _writer_with(role: Role) -> Callable[..., RequestContext]:
    def require(
        request: Request, token: Annotated[str, Form()] = "", x_token: Annotated[str, Header()] = ""
    ) -> RequestContext:
        visit = _check_role(find_request_context(request), role)
        if not visit.session.is_own(token or x_token):
            raise Forbidden("This form belongs to an earlier login: open the page again and repeat the input.")
        return visit

    require.role = role  # type: ignore[attr-defined]
    return require


def _check_role(visit: RequestContext, role: Role) -> RequestContext:
    if not visit.person.role.includes(role):
        raise Forbidden(f"{visit.person.name} is {visit.person.role}: this needs the role {role}.")
    return visit


Reading = Annotated[RequestContext, Depends(_reader_with(Role.READER))]  #: for a page that every user may see
OperatorReading = Annotated[RequestContext, Depends(_reader_with(Role.OPERATOR))]
AnnotatorReading = Annotated[RequestContext, Depends(_reader_with(Role.ANNOTATOR))]
Annotating = Annotated[RequestContext, Depends(_writer_with(Role.ANNOTATOR))]  #: for a form
Operating = Annotated[RequestContext, Depends(_writer_with(Role.OPERATOR))]
Leaving = Annotated[RequestContext, Depends(_writer_with(Role.READER))]


def role_of_route(route: Any) -> Role | None:
    """Return the role that a route needs; None for a route that needs no login."""
    calls = [dependency.call for dependency in route.dependant.dependencies]
    return next((call.role for call in calls if hasattr(call, "role")), None)
