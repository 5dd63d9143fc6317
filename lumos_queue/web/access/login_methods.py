"""How people come in: by the token in the printed address on this machine alone, or by name and password."""

from __future__ import annotations

import hmac
import secrets
from typing import Protocol

from lumos_queue.errors import SpecError
from lumos_queue.web.access.passwords import PasswordFile
from lumos_queue.web.access.users import Person, Role

MIN_TOKEN = 16  #: characters of a token that a person chooses


class Door(Protocol):
    """What decides who a visitor is."""

    asks_password: bool

    def admit(self, name: str, secret: str) -> Person | None:
        """The person that a name and a secret are of; None for wrong ones."""
        ...

    def find(self, name: str) -> Person | None:
        """The person of that name now; None for one who may not come in any more."""
        ...


class TokenDoor:
    """For one person on one machine: whoever knows the token is that person, an operator."""

    asks_password = False

    def __init__(self, name: str, token: str = ""):
        """`token`: one that is known already; '': a new one. Raises SpecError for one that could be guessed."""
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


class PasswordDoor:
    """For several people, by a password file."""

    asks_password = True

    def __init__(self, people: PasswordFile):
        self._people = people

    def admit(self, name: str, secret: str) -> Person | None:
        return self._people.check(name, secret)

    def find(self, name: str) -> Person | None:
        role = self._people.role_of(name)
        return Person(name, role) if role else None
