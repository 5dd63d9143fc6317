"""Whether rows are those of a public file: by the sha256 of the file that they were read from."""

from __future__ import annotations

from pathlib import Path

from lumos_queue.downloads.cache import downloaded_sha256
from lumos_queue.downloads.catalogue import list_set


def find_published(benchmark: str, sha256: str, folder: Path) -> str:
    """Return the name of the benchmark's public file that has this sha256, '' where none is known to have it.

    `folder` has the files that `lumos data get` fetched: of files whose sha256 the catalogue does not know, the one
    that was recorded at the first download counts. That of a file that was put there by hand does not.
    """
    files = list_set(benchmark) if sha256 else []
    known = ((file.name, file.sha256 or downloaded_sha256(file, folder)) for file in files)
    return next((name for name, expected in known if expected == sha256), "")
