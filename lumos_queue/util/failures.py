"""Describe an exception on one line, with its location if third-party code raised it."""

from __future__ import annotations

import os
import traceback

_OURS = tuple(
    os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), name, "")
    for name in ("lumos_queue", "db", "workers")
)


def format_failure(error: BaseException) -> str:
    """Return a line such as `KeyError: 'answer' (tasks.py, line 12)`; without location for this project's errors."""
    message = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
    library = (os.path.dirname(os.__file__), "<frozen")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(library)]
    if not frames or frames[-1].filename.startswith(_OURS):
        return message
    return f"{message} ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})"
