"""Who makes a request: every route names the role that it needs, and every form brings its session's token back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Form, Header, Request

from lumos_queue.web.access.sessions import Session
from lumos_queue.web.access.users import Person, Role
from lumos_queue.web.app_state import Site, site_of


class NeedsLogin(Exception):
    """Raised for a request without a session, or with one whose person may not come in any more."""


class Forbidden(Exception):
    """Raised for a request that this person may not make. The text says why."""


class NotFound(Exception):
    """Raised for the address of something that is not there. The text says what is."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of a person who may make it."""

    request: Request
    site: Site
    person: Person
    session: Session

    def may(self, role: str) -> bool:
        """Whether the person has this role, or one that includes it."""
        return self.person.role.includes(Role(role))


def find_visit(request: Request) -> Visit:
    """Raises NeedsLogin where nobody has logged in."""
    site = site_of(request)
    session = site.sessions.find(request.cookies.get(site.cookie, ""))
    person = site.door.find(session.person) if session else None
    if session is None or person is None:
        raise NeedsLogin
    return Visit(request, site, person, session)


def _reader_with(role: Role) -> Callable[..., Visit]:
    def require(request: Request) -> Visit:
        return _check_role(find_visit(request), role)

    require.role = role  # type: ignore[attr-defined]  # a test lists the role of every route
    return require


def _writer_with(role: Role) -> Callable[..., Visit]:
    def require(request: Request, token: Annotated[str, Form()] = "", x_token: Annotated[str, Header()] = "") -> Visit:
        visit = _check_role(find_visit(request), role)
        if not visit.session.is_own(token or x_token):
            raise Forbidden("This form is of an earlier login: open the page again, and repeat it.")
        return visit

    require.role = role  # type: ignore[attr-defined]
    return require


def _check_role(visit: Visit, role: Role) -> Visit:
    if not visit.person.role.includes(role):
        raise Forbidden(f"{visit.person.name} is {visit.person.role}: this needs the role {role}.")
    return visit


Reading = Annotated[Visit, Depends(_reader_with(Role.READER))]  #: of a page that everybody may see
OperatorReading = Annotated[Visit, Depends(_reader_with(Role.OPERATOR))]
AnnotatorReading = Annotated[Visit, Depends(_reader_with(Role.ANNOTATOR))]
Annotating = Annotated[Visit, Depends(_writer_with(Role.ANNOTATOR))]  #: of a form
Operating = Annotated[Visit, Depends(_writer_with(Role.OPERATOR))]
Leaving = Annotated[Visit, Depends(_writer_with(Role.READER))]


def role_of_route(route: Any) -> Role | None:
    """The role that a route needs; None for one that everybody may ask."""
    calls = [dependency.call for dependency in route.dependant.dependencies]
    return next((call.role for call in calls if hasattr(call, "role")), None)
