"""Check for `lumos doctor` whether files can be written in the folders that commands use."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lumos_queue.settings import Settings
from lumos_queue.util.os_errors import describe_os_error
from lumos_queue.util.write_failures import is_disk_full

#: Folders of LUMOS_HOME that are checked if they exist: for builds, benchmark files, logs, models and processes.
_OF_HOME = ("builds", "data", "logs", "models", "run")
#: Bytes that a check writes. A file system may store a smaller file in its directory although no block is free.
PROBE_BYTES = 4096


def find_folders(settings: Settings) -> dict[str, Path]:
    """Return the folders that commands write to, by their purpose. Folders that do not exist are left out."""
    folders = {"LUMOS_HOME": settings.home}
    prefix = "sqlite:///"
    if settings.database.startswith(prefix):
        folders["database folder"] = Path(settings.database.removeprefix(prefix)).parent
    folders |= {f"folder of {name}": settings.home / name for name in _OF_HOME}
    folders["temporary files"] = Path(os.environ.get("TMPDIR") or "/tmp")
    distinct: dict[Path, str] = {}
    for name, folder in folders.items():
        if folder.is_dir():
            distinct.setdefault(folder.resolve(), name)
    return {name: folder for folder, name in distinct.items()}


def find_parent(folder: Path) -> Path:
    """Return the folder itself if it exists, else its nearest existing parent, in which it would be created."""
    folder = folder.absolute()
    return next((parent for parent in (folder, *folder.parents) if parent.is_dir()), Path("/"))


def check_folders(settings: Settings) -> Iterator[tuple[str, bool, str]]:
    """Yield the purpose of each folder, whether it can be written, and a line with the remedy where it cannot."""
    folders = find_folders(settings)
    if settings.home.exists() and not settings.home.is_dir():
        yield "LUMOS_HOME", False, f"{settings.home} is no folder: set LUMOS_HOME to one"
    elif not settings.home.is_dir():
        folders = {"LUMOS_HOME": find_parent(settings.home)} | folders
    for name, folder in folders.items():
        problem = probe_folder(folder)
        remedy = "TMPDIR" if name == "temporary files" else "LUMOS_HOME"
        if name == "database folder":
            remedy = "LUMOS_DATABASE_URL"
        yield name, not problem, f"{folder} can be written" if not problem else f"{problem}, or set {remedy}"


def probe_folder(folder: Path) -> str:
    """Write a file in the folder and remove it. Return the problem with its remedy, or '' if there was no problem."""
    path = None
    try:
        number, path = tempfile.mkstemp(prefix=".lumos-doctor-", dir=folder)
        with open(number, "wb") as file:
            file.write(b"\0" * PROBE_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if is_disk_full(error):
            return f"the disk of {folder} is full: make room there"
        return f"{folder} cannot be written ({describe_os_error(error).partition(':')[0]}): make it writable"
    finally:
        if path:
            with suppress(OSError):
                os.unlink(path)
    return ""
