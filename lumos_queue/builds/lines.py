"""Write a file of JSON lines that appears complete or not at all, and never replaces another file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError

Write = Callable[[dict[str, Any]], None]


@contextmanager
def new_lines(path: Path | None) -> Iterator[Write]:
    """Yield a function that writes one row to the file; without a path, the function does nothing.

    Raises SpecError when the file exists, or when its folder does not.
    """
    if path is None:
        yield lambda row: None
        return
    if path.exists():
        raise SpecError(f"'{path}' exists already: name a new file.")
    if not path.parent.is_dir():
        raise SpecError(f"There is no folder '{path.parent}': create it, or name a file in another folder.")
    partial_path = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial_path.open("w", encoding="utf-8", newline="\n") as file:
            yield lambda row: print(json.dumps(row, ensure_ascii=False), file=file)
        partial_path.rename(path)
    finally:
        with suppress(FileNotFoundError):
            partial_path.unlink()
