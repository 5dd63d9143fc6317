"""The options of the SQL actions, and the location of their databases."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lumos_queue.actions.options import check_option_names
from lumos_queue.endpoints.accounts import EXAMPLE
from lumos_queue.errors import ActionError, SpecError
from lumos_queue.util.addresses import DATABASE_PORTS, Origin
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.regular_file import open_regular

OPTIONS = {
    "databases": "a folder with NAME/NAME.sqlite for each database, as in Spider",
    "mysql": "a server in place of files: mysql://HOST:PORT; its account is in the file of LUMOS_API_KEYS",
    "writes": "yes: statements may change the throw-away copy",
    "turns": "how many queries may be submitted, 1 to 50; the best one counts",
}
MAX_TURNS = 50
_NAME = re.compile(r"\w[\w $-]{0,63}")


@dataclass(frozen=True, slots=True)
class Tools:
    """The parsed options of the SQL actions. Either `databases` or `server` is set."""

    databases: Path | None
    server: Origin | None
    writes: bool
    turns: int

    def locate(self, database: object) -> dict[str, Any]:
        """Return the part of a request that names a database: `name`, and `file` unless it is on a server.

        Raises ActionError if `database` cannot be the name of a database.
        """
        if not isinstance(database, str) or not _NAME.fullmatch(database):
            raise ActionError("no_database", f"no database can be called {str(database)[:60]!r}")
        if self.server is not None:
            return {"name": database}
        assert self.databases is not None
        return {"name": database, "file": str(self.databases / database / f"{database}.sqlite")}


def prepare_tools(tools: Mapping[str, str]) -> dict[str, str]:
    """Check the options; return them with absolute paths and the digest of the files. Raises SpecError."""
    check_option_names(tools, "intercode_sql", OPTIONS)
    read = _read(tools)
    options = dict(tools)
    if read.databases is not None:
        folder = read.databases.absolute()
        options |= {"databases": str(folder), "databases_sha256": folder_digest(folder)}
    return options


def open_tools(tools: Mapping[str, str]) -> Tools:
    """Parse the options that `prepare_tools` returned. Raises SpecError if the files have changed since submission."""
    read = _read(tools)
    if read.databases is not None and (expected_digest := tools.get("databases_sha256")) is not None:
        digest = folder_digest(read.databases)
        if digest != expected_digest:
            raise SpecError(
                f"The databases in '{read.databases}' have sha256 {digest[:12]}…, the job was submitted with "
                f"{expected_digest[:12]}…: restore them, or submit again."
            )
    return read


def _read(tools: Mapping[str, str]) -> Tools:
    if ("databases" in tools) == ("mysql" in tools):
        raise SpecError("The domain 'intercode_sql' needs exactly one of --tool databases=FOLDER and --tool mysql=URL.")
    writes, turns = tools.get("writes", "no"), tools.get("turns", "1")
    if writes not in ("yes", "no"):
        raise SpecError(f"--tool writes={writes}: expected 'yes' or 'no'.")
    if not re.fullmatch(r"[0-9]{1,2}", turns) or not 1 <= int(turns) <= MAX_TURNS:
        raise SpecError(f"--tool turns={turns}: expected a number from 1 to {MAX_TURNS}.")
    folder = from_launch(tools["databases"]) if "databases" in tools else None
    if folder is not None and not folder.is_dir():
        raise SpecError(f"--tool databases={folder}: no such folder. Expected {OPTIONS['databases']}.")
    server = _server(tools["mysql"]) if "mysql" in tools else None
    return Tools(folder, server, writes == "yes", int(turns))


def _server(url: str) -> Origin:
    try:
        parts = urlsplit(url)
        credentials = parts.username is not None or parts.password is not None
    except ValueError as error:
        raise SpecError(f"--tool mysql: {error}. Expected mysql://HOST:PORT.") from None
    if credentials:
        raise SpecError(
            f"--tool mysql has a user or password: write a line '{EXAMPLE}' into the file of LUMOS_API_KEYS instead."
        )
    try:
        if parts.path.strip("/") or parts.query or parts.fragment:
            raise ValueError("more than a host and a port")
        return Origin.of(url, DATABASE_PORTS)
    except ValueError:
        raise SpecError(
            f"--tool mysql={url[:200]}: expected mysql://HOST:PORT; the database comes from the task."
        ) from None


def database_files(folder: Path) -> dict[str, Path]:
    """Return a map from the databases' names in a folder to their files, in the order of names."""
    files = {path.name: path / f"{path.name}.sqlite" for path in sorted(folder.iterdir()) if path.is_dir()}
    return {name: path for name, path in files.items() if path.is_file()}


def folder_digest(folder: Path) -> str:
    """Return the sha256 of the names and contents of a folder's databases. Raises SpecError if there is no database."""
    try:
        files = tuple((name, path, *_signature(path)) for name, path in database_files(folder).items())
        if not files:
            raise SpecError(f"'{folder}' holds no database. Expected {OPTIONS['databases']}.")
        return _digest(folder, files)
    except OSError as error:
        raise SpecError(f"Cannot read the databases in '{folder}': {error.strerror}.") from error


def _signature(path: Path) -> tuple[int, int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns, state.st_ino


@lru_cache(maxsize=8)
def _digest(folder: Path, files: tuple[tuple[Any, ...], ...]) -> str:
    """Return the files' sha256. It is computed again only if a file's size or time has changed."""
    whole = hashlib.sha256()
    for name, path, *_ in files:
        with open_regular(path, folder) as file:
            whole.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()
