"""Report that standard output cannot be written: print a line for a full disk, nothing for a reader that has ended."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from lumos_queue.cli import output
from lumos_queue.cli.exit_codes import Exit


class StandardOutput:
    """A stream that remembers its first failed write, to distinguish it from a failed write to another file."""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self.error: OSError | None = None  #: the first error of writing

    def write(self, text: str) -> int:
        with self._remember():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._remember():
            self._stream.flush()

    def report_error(self) -> int:
        """Print why the output is lost, unless its reader has ended, and discard the rest. Return the exit code."""
        assert self.error
        _discard(self._stream)
        if self.error.errno == errno.EPIPE:  # the reader has read enough, as in `lumos jobs | head`
            return Exit.FAULT
        problem = os.strerror(self.error.errno) if self.error.errno else type(self.error).__name__
        output.say(f"lumos: Cannot write the output: {problem}. Make room, or send the output to another file.")
        return Exit.BAD_REQUEST

    @contextmanager
    def _remember(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = self.error or error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def discard_unwritten(stream: TextIO) -> None:
    """Discard what the stream cannot write, so that the exit code of the command remains."""
    try:
        stream.flush()
    except (OSError, ValueError):
        _discard(stream)


def _discard(stream: TextIO) -> None:
    """Discard all that the stream still contains. The interpreter would write it at exit, and end with another code."""
    with suppress(OSError, ValueError):  # a test's standard output is no file
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, stream.fileno())
        os.close(null_device)


@contextmanager
def watch_output() -> Iterator[StandardOutput | None]:
    """Make `sys.stdout` remember its error. Yield it, or None where the process has no standard output."""
    if sys.stdout is None:
        yield None
        return
    stream, wrapper = sys.stdout, StandardOutput(sys.stdout)
    sys.stdout = wrapper
    try:
        yield wrapper
    finally:
        sys.stdout = stream
