"""Keys of model servers, each bound to one server: the file that `LUMOS_API_KEYS` names.

    # one server a line: its address, then the key
    https://api.example.org        KEY
    http://127.0.0.1:8080          KEY
    http://10.0.0.5:8080           KEY  cleartext

The person who submits a job says which servers the workers call, so a key goes to its own server only. Over plain http
it goes to this machine only, unless its line says `cleartext`. docs/decisions/0017 has the reasons.
"""

from __future__ import annotations

import ipaddress
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.util.addresses import Origin

EXAMPLE = "https://api.example.org KEY"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The key of one server."""

    text: str = field(repr=False)
    cleartext: bool  #: may go over plain http to another machine


def find_key(path: Path | None, base: str) -> ApiKey | None:
    """The key for the server at `base` (http://… or https://…); None without one. Raises SpecError as `read_keys`."""
    return read_keys(path).get(Origin.of(base)) if path else None


def read_keys(path: Path) -> Mapping[Origin, ApiKey]:
    """The keys in a file, by server. Raises SpecError; its message never shows what a line says."""
    keys: dict[Origin, ApiKey] = {}
    for number, line in enumerate(_read(path).splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        where = f"LUMOS_API_KEYS, {path}, line {number}"
        if len(words) not in (2, 3) or words[2:] not in ([], ["cleartext"]):
            raise SpecError(f"{where}: expected an address and a key, as in '{EXAMPLE}'.")
        origin = _origin(words[0], where)
        key = ApiKey(words[1], cleartext=len(words) == 3)
        if not (key.text.isascii() and key.text.isprintable()):
            raise SpecError(f"{where}: a key may only have letters, digits and signs of ASCII.")
        if origin.scheme == "http" and not key.cleartext and not _is_here(origin.host):
            raise SpecError(
                f"{where}: over http anyone on the way can read the key: write https://, or 'cleartext' after the key."
            )
        if origin in keys:
            raise SpecError(f"{where}: an earlier line has a key for the same server; keep one of them.")
        keys[origin] = key
    return keys


def _read(path: Path) -> str:
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as file:  # a pipe must not block
            mode = os.fstat(file.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise SpecError(f"LUMOS_API_KEYS names {path}, which is not a file.")
            if mode & 0o077:
                raise SpecError(f"Others can read {path}, which LUMOS_API_KEYS names: run chmod 600 {path}")
            return file.read()
    except OSError as error:
        raise SpecError(f"Cannot read {path}, which LUMOS_API_KEYS names: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}, which LUMOS_API_KEYS names, is not text in UTF-8.") from None


def _origin(address: str, where: str) -> Origin:
    wrong = SpecError(f"{where}: the address is not http://HOST[:PORT] or https://HOST[:PORT].")
    try:
        origin = Origin.of(address)
    except ValueError:
        raise wrong from None
    rest = address.partition("://")[2].removesuffix("/")
    if any(sign in rest for sign in "@/?#"):
        raise wrong
    return origin


def _is_here(host: str) -> bool:
    """Whether a host is this machine; the address of a name is checked again when a connection is made."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
