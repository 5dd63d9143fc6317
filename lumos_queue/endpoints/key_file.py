"""Read the file that `LUMOS_API_KEYS` names: each line has the key of a model server or the account of a database.

    https://api.example.org        KEY
    http://10.0.0.5:8080           KEY  cleartext
    mysql://db.example.org:3306    USER PASSWORD

`api_keys.py` reads the lines of http and https, `accounts.py` those of databases. Only the file's owner may read it.
docs/decisions/0017 and 0049 have the reasons.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lumos_queue.errors import SpecError
from lumos_queue.util.addresses import Origin, origin_forms
from lumos_queue.util.regular_file import UnusableFile, open_regular_text

MAX_LENGTH = 1_000_000  #: characters of the file


class KeyLine(NamedTuple):
    """The words of one line of the file, and the line's location."""

    where: str  #: setting, file and number of the line, for messages, which never contain the line itself
    words: list[str]

    @property
    def scheme(self) -> str:
        """The text before `://`, in lower case."""
        return self.words[0].partition("://")[0].lower()

    def read_origin(self, ports: Mapping[str, int]) -> Origin:
        """Return the server in the line's first word. `ports`: default ports by allowed scheme. Raises SpecError."""
        wrong = SpecError(f"{self.where}: the address is not {origin_forms(ports)}.")
        try:
            origin = Origin.of(self.words[0], ports)
        except ValueError:
            raise wrong from None
        rest = self.words[0].partition("://")[2].removesuffix("/")
        if any(sign in rest for sign in "@/?#"):
            raise wrong
        return origin


def read_lines(path: Path) -> list[KeyLine]:
    """Return the lines that are neither empty nor comments. Raises SpecError if other users can read the file."""
    lines = enumerate(_read(path).splitlines(), start=1)
    words = [(number, line.split()) for number, line in lines]
    return [
        KeyLine(f"LUMOS_API_KEYS, {path}, line {number}", parts)
        for number, parts in words
        if parts and not parts[0].startswith("#")
    ]


def _read(path: Path) -> str:
    try:
        with open_regular_text(path) as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise SpecError(f"Others can read {path}, which LUMOS_API_KEYS names: run chmod 600 {path}")
            text = file.read(MAX_LENGTH + 1)
        if len(text) > MAX_LENGTH:
            raise SpecError(f"{path}, which LUMOS_API_KEYS names, has more than {MAX_LENGTH:,} characters.")
        return text
    except UnusableFile as error:
        raise SpecError(f"{path}, which LUMOS_API_KEYS names, {error.problem}: expected a regular file.") from None
    except OSError as error:
        raise SpecError(f"Cannot read {path}, which LUMOS_API_KEYS names: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}, which LUMOS_API_KEYS names, is not text in UTF-8.") from None
