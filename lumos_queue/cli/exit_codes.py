"""The exit codes of commands; docs/running.md explains them to users."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """An exit code of `lumos`."""

    FINE = 0  #: success; also a report of a job that has not ended
    FAULT = 1  #: an error in Lumos itself, or a problem found by `lumos doctor`
    BAD_REQUEST = 2  #: the request cannot be carried out; one line says why
    INCOMPLETE = 3  #: some items of the job have no result, or the command gave up: see `lumos resume`
    INTERRUPTED = 130  #: by Ctrl-C or TERM
