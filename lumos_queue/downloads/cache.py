"""The files that are here: found again, checked, and fetched when they are missing."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from lumos_queue.downloads.catalogue import PublicFile
from lumos_queue.downloads.fetch import download
from lumos_queue.errors import SpecError
from lumos_queue.util.paths import require_folders
from lumos_queue.util.regular_file import open_regular, read_regular_text

_RECORD = re.compile(r"([0-9a-f]{64})  \S+\n?(# not downloaded.*\n?)?")
#: A second line of the record of a file that was put there by hand: `sha256sum -c` passes over it.
_BY_HAND = "# not downloaded: the file was already there\n"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that is here and is what it should be."""

    name: str
    path: Path
    sha256: str
    licence: str
    new: bool  #: whether it was downloaded now
    checked: str  #: what its bytes were compared with: 'catalogue', 'first download' or 'nothing'


def path_of(file: PublicFile, folder: Path) -> Path:
    """The path of the file in a folder of public data."""
    return folder / file.name


def fetch(file: PublicFile, folder: Path) -> Fetched:
    """The file at its place in `folder`, downloaded if it is not there yet.

    Where the catalogue knows no checksum, that of the first download (or of a file put there by hand) is written
    beside it as `FILE.sha256`, and the file must match it from then on, downloaded again or not.
    Raises SpecError when the file cannot be had, or when another file is there; that one is left alone.
    """
    path = path_of(file, folder)
    require_folders(path, "--to")
    record = path.with_name(f"{path.name}.sha256")
    first, by_hand = ("", False) if file.sha256 else _read_record(record)
    expected = file.sha256 or first
    checked = "catalogue" if file.sha256 else "first download" if first else "nothing"
    new = not path.exists()
    found = download(file, path, expected) if new else _digest(path)
    if expected and found != expected:
        raise SpecError(
            f"'{path}' has the sha256 {found}, expected {expected} ({checked}): it was changed, or is another file. "
            f"Move it away and run: lumos data get {file.name}"
        )
    if not file.sha256 and (not first or (new and by_hand)):
        _write_record(record, found, path.name, new)
    return Fetched(file.name, path, found, file.licence, new, checked)


def downloaded_sha256(file: PublicFile, folder: Path) -> str:
    """Return the sha256 that a file had when `fetch` downloaded it to `folder`; '' where that is not known."""
    path = path_of(file, folder)
    try:
        sha256, by_hand = _read_record(path.with_name(f"{path.name}.sha256"))
    except (OSError, SpecError):
        return ""
    return "" if by_hand else sha256


def _digest(path: Path) -> str:
    if not path.is_file():
        raise SpecError(f"'{path}' is not a file: move it away, or choose another folder with --to.")
    with open_regular(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_record(record: Path) -> tuple[str, bool]:
    """Return the sha256 of a record, '' where there is none, and whether its file was put there by hand."""
    try:
        text = read_regular_text(record)
    except FileNotFoundError:
        return "", False
    except UnicodeDecodeError:
        text = ""
    if not (found := _RECORD.fullmatch(text)):
        raise SpecError(f"'{record}' has no sha256 as sha256sum writes it: delete it to trust the file beside it.")
    return found[1], bool(found[2])


def _write_record(record: Path, digest: str, name: str, downloaded: bool) -> None:
    """As `sha256sum` writes it, so that `sha256sum -c` reads it."""
    part = record.with_name(f".{record.name}.{os.getpid()}.part")
    part.write_text(f"{digest}  {name}\n{'' if downloaded else _BY_HAND}", encoding="utf-8")
    os.replace(part, record)
