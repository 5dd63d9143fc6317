"""A data file, opened: a regular file, or a pipe that a person named. It is unpacked where it is gzip, and examined."""

from __future__ import annotations

import io
import os
import stat
import tempfile
import threading
from pathlib import Path
from typing import BinaryIO, cast

from lumos_queue.errors import SpecError
from lumos_queue.readers.file_kind import UTF8_MARK, FileKind, kind_of, refusal_of
from lumos_queue.readers.gzip_file import Unpacked
from lumos_queue.readers.source import Source
from lumos_queue.util.regular_file import UnusableFile, open_regular

MAX_COPY_BYTES = 8 * 2**30  #: of a pipe, or a packed Parquet file: it is copied to a temporary file
_BUFFER_BYTES = 2**16
_pipes: dict[tuple[int, int], BinaryIO] = {}  #: by device and inode, what each pipe has sent
_lock = threading.Lock()


def open_raw(path: Path | None, description: str, folder: Path | None = None) -> io.BufferedReader:
    """Open the file as it is, packed or not; a pipe can be opened again and again, from its beginning.

    `what` names the file that is expected. Raises SpecError where there is none, or it is no regular file.
    """
    if path is None:
        raise SpecError(f"This benchmark reads {description}: give its path with --data.")
    try:
        file = open_regular(path, folder)
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            file = _reopen_pipe(file, Source(path, description))
        return file
    except OSError as error:
        raise SpecError(f"Cannot read '{path}': {error.strerror or error}. Expected {description}.") from error
    except UnusableFile as error:
        raise SpecError(f"Cannot read '{path}': it {error.problem}. Expected {description}.") from error


def open_data(
    path: Path | None, description: str, folder: Path | None = None, kinds: tuple[FileKind, ...] = (FileKind.TEXT,)
) -> io.BufferedReader:
    """Open a file of one of the kinds, unpacked where it is gzip; `what` names the file that is expected.

    Raises SpecError for another kind, with the way out, and as `open_raw`. Reading raises SpecError for gzip data that
    is damaged, cut off, or unpacks beyond the limits of readers/gzip_file.py.
    """
    source = Source(path, description)
    file = open_raw(path, description, folder)
    try:
        if kind_of(file.peek()) is FileKind.GZIP:
            file = cast(io.BufferedReader, io.BufferedReader(Unpacked(file, source), _BUFFER_BYTES))
            if kind_of(file.peek()) is FileKind.GZIP:
                raise source.refuse("it is compressed twice with gzip: unpack it once with: gunzip")
        start = file.peek()
        kind = kind_of(start)
        if kind not in kinds:
            raise source.refuse(refusal_of(start) or f"it is {_ARTICLES[kind]}")
    except BaseException:
        file.close()
        raise
    return file


_ARTICLES = {
    FileKind.PARQUET: "a Parquet file, and text is expected: write its rows as JSON lines",
    FileKind.ARROW: "an Arrow stream, and text is expected: write its rows as JSON lines",
    FileKind.TEXT: "text",
}


def peek_character(file: io.BufferedReader, source: Source) -> str:
    """Return the first character of an open file without moving on. Raises SpecError for an empty file."""
    start = file.peek().removeprefix(UTF8_MARK).lstrip()
    if not start:
        raise SpecError(f"'{source.path}' is empty. Expected {source.what}.")
    return start[:1].decode("latin-1")


def seekable(file: io.BufferedReader, source: Source) -> BinaryIO:
    """Return the file itself where it can be read in any order, else a temporary copy; the file is closed then."""
    if file.seekable():
        return file
    with file:
        return _copy(file, source)


def _reopen_pipe(pipe: io.BufferedReader, source: Source) -> io.BufferedReader:
    """Open what the pipe has sent; the first time it is read to its end."""
    with pipe, _lock:
        state = os.fstat(pipe.fileno())
        key = (state.st_dev, state.st_ino)
        if key not in _pipes:
            _pipes[key] = _copy(pipe, source)
        return open_regular(f"/proc/self/fd/{_pipes[key].fileno()}")


def _copy(file: io.BufferedReader, source: Source) -> BinaryIO:
    """Copy a file to a temporary one without a name, which the system removes when it is closed."""
    copy = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115
    size = 0
    while data := file.read(2**20):
        size += len(data)
        if size > MAX_COPY_BYTES:
            copy.close()
            raise source.refuse(
                f"it has more than {MAX_COPY_BYTES >> 30} GiB and cannot be read as it comes. Write it to a file first"
            )
        copy.write(data)
    copy.flush()
    copy.seek(0)
    return copy
