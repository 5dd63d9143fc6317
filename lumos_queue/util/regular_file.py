"""Open a file that a person, a job, a page or a row of data names. Only regular files are opened.

A pipe would make the reader wait for a writer that may never come, a device such as /dev/zero never ends, and a link
may lead to another file. The opened file is checked, not its path, so that nobody can exchange the file between the
check and the reading.

A file that is read whole has at most MAX_BYTES. Data sets are read row by row and weights are mapped, so they have no
limit here. Other libraries open files by their paths: `check_entries` checks a folder before they do.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from lumos_queue.errors import SpecError
from lumos_queue.util.wording import format_bytes

MAX_BYTES = 64 * 2**20  #: of a file that is read whole
#: Suffixes of the files of a model folder that other libraries read whole; weights are mapped.
_READ_WHOLE = (".json", ".jinja", ".model", ".txt")
_BUFFER = 2**16  #: bytes that are read at once
_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}
_DESCRIPTOR = re.compile(r"/dev/stdin|/(?:dev|proc/self)/fd/[0-9]+")
_accepted_pipes: set[tuple[int, int]] = set()  #: device and inode of each pipe that a person named for this process


class UnusableFile(SpecError):
    """Raised for a path that is refused. `problem` is a text that follows the path, such as `is a pipe`."""

    def __init__(self, path: str | Path, problem: str, remedy: str):
        self.problem = problem
        super().__init__(f"'{path}' {problem}: {remedy}.")


def open_regular(path: str | Path, folder: Path | None = None) -> io.BufferedReader:
    """Open a regular file to read its bytes. With `folder`, the file must be in that folder after following all links.

    Links of a model's folder in the cache of Hugging Face lead to files of the same model beside it; they are allowed.
    Raises UnusableFile for anything but a regular file and for a file outside the folder, and OSError, as `open` does,
    for a file that does not exist or cannot be read.
    """
    if "\0" in str(path):
        raise UnusableFile(str(path).replace("\0", "?"), "has a character of the number 0", "expected a path")
    return io.BufferedReader(_RegularFile(path, opener=partial(_open, folder)), _BUFFER)


def open_regular_text(
    path: str | Path,
    folder: Path | None = None,
    *,
    encoding: str = "utf-8",
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper:
    """Open a regular file to read its text, with options of `open`. Raises the errors of `open_regular`."""
    return io.TextIOWrapper(open_regular(path, folder), encoding, errors, newline)


def read_regular(path: str | Path, folder: Path | None = None, limit: int = MAX_BYTES) -> bytes:
    """Return all bytes of a regular file of at most `limit` bytes.

    Raises UnusableFile for a larger file, even if it grows while it is read, and the errors of `open_regular`.
    """
    with open_regular(path, folder) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise _too_large(path, size, limit)
        data = file.read(size + 1)
        if len(data) > size:  # the file grows, or its size is not stated
            data += file.read(limit + 1 - len(data))
    if len(data) > limit:
        raise _too_large(path, len(data), limit)
    return data


def read_regular_text(
    path: str | Path, folder: Path | None = None, *, encoding: str = "utf-8", errors: str = "strict"
) -> str:
    """Return the text of a regular file. Raises UnicodeDecodeError, and the errors of `read_regular`."""
    text = read_regular(path, folder).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n")  # as for files that are opened as text


def check_entries(folder: Path) -> None:
    """Check a model folder before a library opens its files by their paths.

    Every file in it and in its subfolders must be a regular file inside it. Files that libraries read whole, such as
    config.json, have at most MAX_BYTES. Hidden entries are not checked: no library opens them. Raises UnusableFile.
    """
    root = _root_of(folder)
    for path in _entries(folder):
        try:
            state = path.stat()
        except OSError:  # a link to nothing, which a library cannot open
            continue
        if not os.path.realpath(path).startswith(root):
            raise _outside(path, folder)
        if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
            raise _not_regular(path, state.st_mode)
        if path.suffix in _READ_WHOLE and state.st_size > MAX_BYTES:
            raise _too_large(path, state.st_size, MAX_BYTES)


def accept_pipe(path: str | Path | None) -> None:
    """Let this process read a pipe that it inherited: `/dev/stdin`, or the path that a shell gives for `<(COMMAND)`.

    Call this only for paths that the person who started the process named. A named pipe (FIFO) is never accepted. If
    the path leads to another pipe later, that pipe is refused.
    """
    if path is None or not _DESCRIPTOR.fullmatch(str(path)):
        return
    try:
        state = os.stat(path)
    except OSError:  # the later `open` reports it
        return
    if stat.S_ISFIFO(state.st_mode):
        _accepted_pipes.add((state.st_dev, state.st_ino))


class _RegularFile(io.FileIO):
    """An opened file. If the system has no data yet, `readinto` raises BlockingIOError instead of returning None."""

    def readinto(self, buffer: object, /) -> int:
        size = super().readinto(buffer)  # pyright: ignore[reportArgumentType]
        if size is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), self.name)
        return size


def _open(folder: Path | None, path: str, _flags: int) -> int:
    """Check the file of a path, and open exactly the checked file. Return its descriptor.

    O_PATH neither waits nor starts a device, and the second `open` does not use the path again.
    """
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        itself = f"/proc/self/fd/{descriptor}"
        state = os.fstat(descriptor)
        is_pipe = stat.S_ISFIFO(state.st_mode) and (state.st_dev, state.st_ino) in _accepted_pipes
        if not (is_pipe or stat.S_ISREG(state.st_mode)):
            raise _not_regular(path, state.st_mode)
        if folder is not None and not os.readlink(itself).startswith(_root_of(folder)):
            raise _outside(path, folder)
        waits = 0 if is_pipe else os.O_NONBLOCK
        return os.open(itself, os.O_RDONLY | os.O_CLOEXEC | waits)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        os.close(descriptor)


def _entries(folder: Path) -> Iterator[Path]:
    """Yield the visible entries of a folder and of its subfolders."""
    for path in sorted(folder.glob("*")):
        if not path.name.startswith("."):
            yield path
            if path.is_dir():
                yield from (inner for inner in sorted(path.glob("*")) if not inner.name.startswith("."))


def _root_of(folder: Path) -> str:
    """Return the real path below which the files of a folder must be, with a slash at its end.

    In the cache of Hugging Face `models--ORG--NAME/snapshots/REVISION` has links to `models--ORG--NAME/blobs`.
    """
    real = Path(os.path.realpath(folder))
    for above in (real, *real.parents):
        if above.parent.name == "snapshots" and above.parent.parent.name.startswith("models--"):
            real = above.parent.parent
            break
    return f"{str(real).rstrip('/')}/"


def _not_regular(path: str | Path, mode: int) -> UnusableFile:
    kind = _KINDS.get(stat.S_IFMT(mode), "not a file")
    return UnusableFile(path, f"is {kind}", "expected a regular file. Name a file that holds the content")


def _outside(path: str | Path, folder: Path) -> UnusableFile:
    return UnusableFile(path, f"leads out of '{folder}'", "expected a file in that folder. Put the file there")


def _too_large(path: str | Path, size: int, limit: int) -> UnusableFile:
    remedy = f"at most {format_bytes(limit)} are read. Name a smaller file"
    return UnusableFile(path, f"has {format_bytes(size)}", remedy)
