"""What a command's exit code says, in one place; for people it is in docs/running.md."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """An exit code of `lumos`."""

    FINE = 0  #: done as asked; also a report on a job that has not ended
    FAULT = 1  #: a fault of ours, or what `lumos doctor` found
    BAD_REQUEST = 2  #: it cannot be carried out as written: one line says why
    INCOMPLETE = 3  #: the job ended without some of its items, or was given up: `lumos resume` goes on
    INTERRUPTED = 130  #: by Ctrl-C or TERM
