"""Fetch public files into a folder, and check the files that the folder already has."""

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
#: The second line of the record of a file that a person put there. `sha256sum -c` ignores it.
_BY_HAND = "# not downloaded: the file was already there\n"


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A public file that is in a folder, and whose bytes were checked."""

    name: str
    path: Path
    sha256: str
    licence: str
    new: bool  #: whether it was downloaded now
    checked: str  #: what its bytes were compared with: 'catalogue', 'first download' or 'nothing'


def path_of(file: PublicFile, folder: Path) -> Path:
    """Return the path at which the file is, or will be, in a folder of public data."""
    return folder / file.name


def fetch(file: PublicFile, folder: Path) -> FetchedFile:
    """Return the file in `folder`; download it if the folder does not have it.

    If the catalogue has no checksum, the first call writes the file's sha256 to `FILE.sha256` beside it, whether the
    call downloaded the file or a person put it there. Later calls compare the file with this record, also after a new
    download. Raises SpecError if the file cannot be downloaded, or if another file is at its path, which stays.
    """
    path = path_of(file, folder)
    require_folders(path, "--to")
    record = path.with_name(f"{path.name}.sha256")
    first, by_hand = ("", False) if file.sha256 else _read_record(record)
    required_sha256 = file.sha256 or first
    check = "catalogue" if file.sha256 else "first download" if first else "nothing"
    new = not path.exists()
    sha256 = download(file, path, required_sha256) if new else _digest(path)
    if required_sha256 and sha256 != required_sha256:
        raise SpecError(
            f"'{path}' has the sha256 {sha256}, expected {required_sha256} ({check}): it was changed, or is another "
            f"file. Move it away and run: lumos data get {file.name}"
        )
    if not file.sha256 and (not first or (new and by_hand)):
        _write_record(record, sha256, path.name, new)
    return FetchedFile(file.name, path, sha256, file.licence, new, check)


def read_download_sha256(file: PublicFile, folder: Path) -> str:
    """Return the recorded sha256 of a file that `fetch` downloaded to `folder`; '' if there is no such record."""
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
    """Return the sha256 in a record ('' without a record), and whether a person put the file there."""
    try:
        text = read_regular_text(record)
    except FileNotFoundError:
        return "", False
    except UnicodeDecodeError:
        text = ""
    if not (match := _RECORD.fullmatch(text)):
        raise SpecError(
            f"'{record}' has no sha256 in the format of sha256sum. If you trust the downloaded file beside it, delete "
            f"'{record}'."
        )
    return match[1], bool(match[2])


def _write_record(record: Path, digest: str, name: str, is_downloaded: bool) -> None:
    """Write the record in the format of `sha256sum`, so that `sha256sum -c` can read it."""
    part = record.with_name(f".{record.name}.{os.getpid()}.part")
    part.write_text(f"{digest}  {name}\n{'' if is_downloaded else _BY_HAND}", encoding="utf-8")
    os.replace(part, record)
