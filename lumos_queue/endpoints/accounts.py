"""Read accounts of database servers from the file that `LUMOS_API_KEYS` names. An account is bound to one server.

    mysql://db.example.org:3306    USER PASSWORD

The person who submits a job names the server, so an account is sent to its own server only. docs/decisions/0049.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lumos_queue.endpoints.key_file import read_lines
from lumos_queue.errors import SpecError
from lumos_queue.util.addresses import DATABASE_PORTS, Origin

EXAMPLE = "mysql://HOST:PORT USER PASSWORD"


@dataclass(frozen=True, slots=True)
class Account:
    """A user of a database server, and the user's password."""

    user: str
    password: str = field(repr=False)
    bound: bool  #: a line of the file names its server; otherwise it is for servers of this machine


def find_account(path: Path | None, server: Origin) -> Account | None:
    """Return the account for a server, or None if the file has none. Raises SpecError if the file is wrong."""
    return read_accounts(path).get(server) if path else None


def read_accounts(path: Path) -> Mapping[Origin, Account]:
    """Return the accounts in a file, by server. Raises SpecError for a wrong line, and never quotes it."""
    accounts: dict[Origin, Account] = {}
    for line in read_lines(path):
        if line.scheme not in DATABASE_PORTS:
            continue  # api_keys.py reads it
        if len(line.words) != 3:
            raise SpecError(f"{line.where}: expected an address, a user and a password, as in '{EXAMPLE}'.")
        origin = line.read_origin(DATABASE_PORTS)
        _, user, password = line.words
        if not (user.isprintable() and password.isprintable()):
            raise SpecError(f"{line.where}: a user and a password may only contain printable characters.")
        if origin in accounts:
            raise SpecError(f"{line.where}: an earlier line has an account for the same server; keep one of them.")
        accounts[origin] = Account(user, password, bound=True)
    return accounts
