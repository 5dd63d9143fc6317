"""The pictures and files of an episode: `lumos show` lists them, `--save DIR` saves them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from db.engine.connection import Connection
from lumos_queue.errors import SpecError
from lumos_queue.reports.pictures import Picture
from lumos_queue.util.wording import format_bytes

SHOWN = 3  #: pictures of one value that are listed for people; all are in the JSON
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_SUFFIXES = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "image/gif": "gif",
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "audio/wav": "wav",
}


def describe_pictures(pictures: Sequence[Picture]) -> Iterator[str]:
    """Yield a line on each value's pictures: `pictures of E1: 3fa2b1c07d5e… image/png 12.3 kB, …, and 7 more`."""
    by_value: dict[str, list[Picture]] = {}
    for picture in pictures:
        by_value.setdefault(picture.of, []).append(picture)
    for name, samples in by_value.items():
        descriptions = [f"{picture.sha256[:12]}… {_size(picture)}" for picture in samples[:SHOWN]]
        suffix = f", and {len(samples) - SHOWN} more" if len(samples) > SHOWN else ""
        kind = "files" if str(samples[0].media_type).startswith(("text/", "audio/")) else "pictures"
        yield f"{kind} of {name}: {', '.join(descriptions)}{suffix}"


def save_pictures(connection: Connection, pictures: Sequence[Picture], folder: Path) -> list[str]:
    """Create the folder and write each picture to a new file in it. Return the names of the files.

    Nothing is written outside the folder or over a file. Raises SpecError for a file that exists, and for a folder that
    cannot be written.
    """
    from db.journal.artifacts import load_artifact

    digests = {_file_name(picture): picture.sha256 for picture in pictures if picture.bytes is not None}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise SpecError(f"Cannot write in '{folder}': {error.strerror}.") from None
    try:
        if existing := sorted(digests.keys() & set(os.listdir(descriptor))):
            raise SpecError(f"'{folder / existing[0]}' is there already: choose another folder, nothing was written.")
        for name, digest in digests.items():
            artifact = load_artifact(connection, digest)
            if artifact is not None:
                _write(descriptor, name, artifact[0])
    except OSError as error:
        raise SpecError(f"Cannot write in '{folder}': {error.strerror}.") from None
    finally:
        os.close(descriptor)
    return list(digests)


def _write(folder: int, name: str, data: bytes) -> None:
    """Write a new file in an open folder. O_EXCL ensures that a link of that name is not followed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with open(os.open(name, flags, 0o644, dir_fd=folder), "wb") as file:
        file.write(data)


def _file_name(picture: Picture) -> str:
    """Return a name such as `E1-003.png`: only letters, digits, '-' and '_', whatever the row contains."""
    name = _UNSAFE.sub("_", picture.of)[:60]
    return f"{name}-{picture.sample:03}.{_SUFFIXES.get(picture.media_type, 'bin')}"


def _size(picture: Picture) -> str:
    if picture.bytes is None:
        return "not stored any more"
    return f"{picture.media_type} {format_bytes(picture.bytes)}"
