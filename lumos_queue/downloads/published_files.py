"""Find the public file that rows were read from, by the sha256 of the file."""

from __future__ import annotations

from pathlib import Path

from lumos_queue.downloads.cache import read_download_sha256
from lumos_queue.downloads.catalogue import list_set


def find_published(benchmark: str, sha256: str, folder: Path) -> str:
    """Return the name of the benchmark's public file that has this sha256; '' if there is no such file.

    `folder` has the files that `lumos data get` fetched. If the catalogue has no sha256 of a file, the sha256 of the
    first download in `folder` counts. The sha256 of a file that a person put there does not count.
    """
    files = list_set(benchmark) if sha256 else []
    digests = ((file.name, file.sha256 or read_download_sha256(file, folder)) for file in files)
    return next((name for name, file_sha256 in digests if file_sha256 == sha256), "")
