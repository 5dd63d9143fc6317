"""Open data files: regular files, and pipes that a person named. Gzip is unpacked, and the kind of file is checked."""

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
from lumos_queue.readers.gzip_file import GzipContent
from lumos_queue.readers.source import Source
from lumos_queue.util.regular_file import UnusableFile, open_regular
from lumos_queue.util.wording import format_bytes

MAX_COPY_BYTES = 8 * 2**30  #: of a pipe or a packed Parquet file, which is copied to a temporary file
_BUFFER_BYTES = 2**16
_pipes: dict[tuple[int, int], BinaryIO] = {}  #: the content of each pipe by device and inode
_lock = threading.Lock()


def open_raw(path: Path | None, description: str, folder: Path | None = None) -> io.BufferedReader:
    """Open a file without unpacking it. A pipe can be opened repeatedly, each time from its beginning.

    `description` describes the expected file. Raises SpecError if the file is missing, or is not a regular file.
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
    """Open a file of one of the kinds, and unpack gzip. `description` describes the expected file.

    Raises SpecError for another kind, with a remedy, and the errors of `open_raw`. Reading raises SpecError for gzip
    data that is damaged, truncated, or unpacks beyond the limits of readers/gzip_file.py.
    """
    source = Source(path, description)
    file = open_raw(path, description, folder)
    try:
        if kind_of(file.peek()) is FileKind.GZIP:
            file = cast(io.BufferedReader, io.BufferedReader(GzipContent(file, source), _BUFFER_BYTES))
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
    """Return the first character of an open file that is not a space; the position stays. Raises SpecError if empty."""
    start = file.peek().removeprefix(UTF8_MARK).lstrip()
    if not start:
        raise SpecError(f"'{source.path}' is empty. Expected {source.description}.")
    return start[:1].decode("latin-1")


def seekable(file: io.BufferedReader, source: Source) -> BinaryIO:
    """Return the file if it can be read in any order. Otherwise close the file and return a temporary copy of it."""
    if file.seekable():
        return file
    with file:
        return _copy(file, source)


def _reopen_pipe(pipe: io.BufferedReader, source: Source) -> io.BufferedReader:
    """Open the content of a pipe. The first call reads the pipe to its end and stores the content."""
    with pipe, _lock:
        state = os.fstat(pipe.fileno())
        key = (state.st_dev, state.st_ino)
        if key not in _pipes:
            _pipes[key] = _copy(pipe, source)
        return open_regular(f"/proc/self/fd/{_pipes[key].fileno()}")


def _copy(file: io.BufferedReader, source: Source) -> BinaryIO:
    """Return a temporary copy of a file. The copy has no name, and the system removes it when it is closed."""
    copy = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115
    size = 0
    while data := file.read(2**20):
        size += len(data)
        if size > MAX_COPY_BYTES:
            copy.close()
            raise source.refuse(
                f"it has more than {format_bytes(MAX_COPY_BYTES)}, too much for a temporary copy. "
                "Write it to a file first"
            )
        copy.write(data)
    copy.flush()
    copy.seek(0)
    return copy
