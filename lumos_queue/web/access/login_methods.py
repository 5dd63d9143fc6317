"""The ways to log in: the token in the printed address, on this machine only, or a name and a password."""

from __future__ import annotations

import hmac
import secrets
from typing import Protocol

from lumos_queue.errors import SpecError
from lumos_queue.web.access.passwords import PasswordFile
from lumos_queue.web.access.users import Person, Role

MIN_TOKEN = 16  #: characters of a token that a person chooses


class LoginMethod(Protocol):
    """A way to identify users."""

    asks_password: bool

    def admit(self, name: str, secret: str) -> Person | None:
        """Return the person with this name and secret; None if they are wrong."""
        ...

    def find(self, name: str) -> Person | None:
        """Return the person with this name, with their current role; None if they have no access."""
        ...


class TokenLogin:
    """A login for one person on one machine: whoever knows the token is that person, an operator."""

    asks_password = False

    def __init__(self, name: str, token: str = ""):
        """`token`: an existing token; '' creates a new one. Raises SpecError for a token that could be guessed."""
        if token and not (len(token) >= MIN_TOKEN and token.isascii() and token.isprintable() and " " not in token):
            raise SpecError(
                f"LUMOS_WEB_TOKEN needs {MIN_TOKEN} or more letters and digits: leave it out for a new one."
            )
        self._person = Person(name, Role.OPERATOR)
        self.token = token or secrets.token_urlsafe(24)

    def admit(self, name: str, secret: str) -> Person | None:
        return self._person if hmac.compare_digest(self.token.encode(), secret.encode()) else None

    def find(self, name: str) -> Person | None:
        return self._person if name == self._person.name else None


class PasswordLogin:
    """A login for several people, whose passwords are in a file."""

    asks_password = True

    def __init__(self, people: PasswordFile):
        self._people = people

    def admit(self, name: str, secret: str) -> Person | None:
        return self._people.check(name, secret)

    def find(self, name: str) -> Person | None:
        return self._people.find(name)
