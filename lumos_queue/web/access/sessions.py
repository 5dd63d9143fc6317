"""Sessions of browsers, in the memory of this process: a restart ends them all.

A cookie contains only a random name. Every session has its own token, which its forms must send, so that no other site
can post in the name of its person.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

IDLE_SECONDS, MAX_SECONDS = 12 * 3600.0, 7 * 24 * 3600.0  #: after which a session ends
MAX_OF_PERSON = 20  #: beyond this, the person's least recently used session ends
MAX_SESSIONS = 10_000  #: beyond this, the least recently used session ends
COOKIE_PART = "~"  #: in a cookie, between the session's name and the signed id of its browser
MAX_NOTICES = 5  #: lines for the next page


@dataclass(slots=True)
class Session:
    """One login of one browser."""

    person: str
    began_at: float
    used_at: float
    credential: str = field(default="", repr=False)  #: of the person at the login
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))  #: sent by its forms
    #: (text, whether it reports an error), for the next page
    notices: list[tuple[str, bool]] = field(default_factory=list)

    def is_own(self, token: str) -> bool:
        return hmac.compare_digest(self.token.encode(), token.encode())

    def add_notice(self, text: str, wrong: bool = False) -> None:
        """Show a line on the session's next page."""
        self.notices = [*self.notices, (text, wrong)][-MAX_NOTICES:]

    def take_notices(self) -> list[tuple[str, bool]]:
        notices, self.notices = self.notices, []
        return notices


class Sessions:
    """All sessions by the digest of their name. May be used from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._lock = clock, threading.Lock()
        self._sessions: dict[str, Session] = {}  # the least recently used first

    def begin(self, person: str, credential: str = "") -> str:
        """Begin a session. Return its name, for the cookie."""
        name, now = secrets.token_urlsafe(32), self._clock()
        with self._lock:
            own_keys = [key for key, session in self._sessions.items() if session.person == person]
            for key in own_keys[: max(0, len(own_keys) - MAX_OF_PERSON + 1)]:
                del self._sessions[key]
            while len(self._sessions) >= MAX_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[_key(name)] = Session(person, now, now, credential)
        return name

    def find(self, name: str) -> Session | None:
        """Return the session with this name, and mark it as used now; None if there is none or it has ended.

        The name may be a whole cookie: what follows COOKIE_PART is the browser's.
        """
        key, now = _key(name), self._clock()
        with self._lock:
            session = self._sessions.pop(key, None)
            if session is None or self._has_expired(session):
                return None
            session.used_at = now
            self._sessions[key] = session
        return session

    def is_open(self, session: Session) -> bool:
        """Return whether the session has not ended, without marking it as used."""
        with self._lock:
            is_stored = any(stored is session for stored in self._sessions.values())
        return is_stored and not self._has_expired(session)

    def end(self, name: str) -> None:
        with self._lock:
            self._sessions.pop(_key(name), None)

    def _has_expired(self, session: Session) -> bool:
        now = self._clock()
        return now - session.used_at > IDLE_SECONDS or now - session.began_at > MAX_SECONDS


def _key(name: str) -> str:
    return hashlib.sha256(name.partition(COOKIE_PART)[0].encode()).hexdigest()
