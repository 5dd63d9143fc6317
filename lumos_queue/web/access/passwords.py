"""A file of people: one line `NAME ROLE HASH` each, with argon2id hashes of their passwords.

A changed file is read again, so that a removed role has an effect at once.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from lumos_queue.errors import SpecError, unknown
from lumos_queue.util.regular_file import read_regular_text
from lumos_queue.util.sanitize import storable
from lumos_queue.web.access.users import Person, Role

MAX_NAME, MAX_PASSWORD = 80, 1_000  #: characters
MIN_PASSWORD = 8
_HASHER = PasswordHasher()


@dataclass(frozen=True, slots=True)
class _Line:
    role: Role
    hash: str


class PasswordFile:
    """The people in a password file. Raises SpecError if it is unreadable, readable by others, or has a wrong line."""

    def __init__(self, path: Path):
        self._path = path
        self._read_at: tuple[int, int, int] = (0, 0, 0)
        self._lines: Mapping[str, _Line] = {}
        # Each check takes 64 MiB, so that only one runs at a time.
        self._turn = threading.Lock()
        self._refresh()
        self._absent = _HASHER.hash("nobody has this password")

    def find(self, name: str) -> Person | None:
        """Return the person with their current role; None for an unknown name.

        Raises SpecError when the file is unreadable.
        """
        self._refresh()
        line = self._lines.get(name)
        return Person(name, line.role, line.hash) if line else None

    def check(self, name: str, password: str) -> Person | None:
        """Return the person if the password is right, else None. An unknown name takes as long as a known one."""
        self._refresh()
        line = self._lines.get(name)
        with self._turn:
            try:
                right = _HASHER.verify(line.hash if line else self._absent, password[:MAX_PASSWORD])
            except (Argon2Error, InvalidHashError):
                right = False
        return Person(name, line.role, line.hash) if line and right else None

    def _refresh(self) -> None:
        try:
            file_status = os.stat(self._path)
            key = file_status.st_mtime_ns, file_status.st_size, file_status.st_ino
            if key != self._read_at:
                self._lines, self._read_at = read_people(self._path), key
        except OSError as error:
            raise SpecError(f"Cannot read the password file '{self._path}': {error.strerror}.") from None


def read_people(path: Path) -> dict[str, _Line]:
    """Read a password file by name. Raises SpecError if others can read it, or for the first wrong line."""
    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise SpecError(f"Others can read the password file '{path}': run chmod 600 on it.")
    people: dict[str, _Line] = {}
    for number, text in enumerate(read_regular_text(path).splitlines(), start=1):
        if not text.strip() or text.startswith("#"):
            continue
        words = text.split(" ")
        if len(words) != 3 or not words[2].startswith("$argon2id$"):
            raise SpecError(f"'{path}', line {number}: expected NAME ROLE HASH, as lumos web add-person writes them.")
        name, role, digest = words
        if role not in tuple(Role):
            raise SpecError(f"'{path}', line {number}: {unknown('role', role, Role)}")
        if name in people:
            raise SpecError(f"'{path}', line {number}: the name '{name}' occurs twice: remove one.")
        people[name] = _Line(Role(role), digest)
    return people


def _hash(password: str, line: _Line | None) -> str:
    """Return a hash of the password: the present one if it is right, so that a new role ends no session."""
    try:
        if line and _HASHER.verify(line.hash, password):
            return line.hash
    except (Argon2Error, InvalidHashError):
        pass  # a new password
    return _HASHER.hash(password)


def add_person(path: Path, name: str, role: str, password: str) -> bool:
    """Write a person into the file, creating it if necessary. Return whether the name was new.

    Raises SpecError for a name, role or password that cannot be used.
    """
    if not name or len(name) > MAX_NAME or not name.isprintable() or any(map(str.isspace, name)) or storable(name)[1]:
        raise SpecError(f"'{name[:40]}' is not a name: give 1 to {MAX_NAME} printable characters without spaces.")
    if name.startswith("#"):
        raise SpecError(f"'{name[:40]}' would be a comment in the file: choose another name.")
    if role not in tuple(Role):
        raise unknown("role", role[:40], Role)
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise SpecError(f"The password has {len(password)} characters: give {MIN_PASSWORD} to {MAX_PASSWORD}.")
    try:
        people = read_people(path) if path.exists() else {}
        is_new = name not in people
        people[name] = _Line(Role(role), _hash(password, people.get(name)))
        text = "".join(f"{person} {line.role} {line.hash}\n" for person, line in people.items())
        beside = path.with_name(path.name + ".new")
        with open(beside, "w", encoding="utf-8", opener=lambda file, flags: os.open(file, flags, 0o600)) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise SpecError(f"Cannot write the password file '{path}': {error.strerror}.") from None
    return is_new
