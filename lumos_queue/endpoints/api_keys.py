"""Read keys of model servers from the file that `LUMOS_API_KEYS` names. A key is bound to one server.

    # one server a line: its address, then the key
    https://api.example.org        KEY
    http://127.0.0.1:8080          KEY
    http://10.0.0.5:8080           KEY  cleartext

Lines of databases in the same file are accounts (`accounts.py`).

The person who submits a job chooses the servers that the workers call, so a key is sent to its own server only. Over
plain http, it is only sent to this machine, unless its line has the word `cleartext` (reasons: docs/decisions/0017).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lumos_queue.endpoints.key_file import read_lines
from lumos_queue.errors import SpecError
from lumos_queue.util.addresses import DATABASE_PORTS, PORTS, Origin, names_loopback

EXAMPLE = "https://api.example.org KEY"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The key of one server. `cleartext`: it may be sent to another machine over plain http."""

    text: str = field(repr=False)
    cleartext: bool  #: whether it may go over plain http to another machine


def find_key(path: Path | None, base: str) -> ApiKey | None:
    """Return the key for the server at `base` (http://… or https://…), or None. Raises SpecError for a wrong file."""
    return read_keys(path).get(Origin.of(base)) if path else None


def read_keys(path: Path) -> Mapping[Origin, ApiKey]:
    """Return the keys in a file, by server. Raises SpecError for a wrong line, and never quotes it."""
    keys: dict[Origin, ApiKey] = {}
    for line in read_lines(path):
        where, words = line
        if line.scheme in DATABASE_PORTS:
            continue  # accounts.py reads it
        if len(words) not in (2, 3) or words[2:] not in ([], ["cleartext"]):
            raise SpecError(f"{where}: expected an address and a key, as in '{EXAMPLE}'.")
        origin = line.read_origin(PORTS)
        key = ApiKey(words[1], cleartext=len(words) == 3)
        if not (key.text.isascii() and key.text.isprintable()):
            raise SpecError(f"{where}: a key may only contain letters, digits and punctuation of ASCII.")
        if origin.scheme == "http" and not key.cleartext and not names_loopback(origin.host):
            raise SpecError(
                f"{where}: over http anyone on the way can read the key: write https://, or 'cleartext' after the key."
            )
        if origin in keys:
            raise SpecError(f"{where}: an earlier line has a key for the same server; keep one of them.")
        keys[origin] = key
    return keys
