"""Find out by the sha256 of a file of rows whether it is a public file of a benchmark."""

from __future__ import annotations

from pathlib import Path

from lumos_queue.downloads.cache import read_download_sha256
from lumos_queue.downloads.catalogue import list_set


def find_published(benchmark: str, sha256: str, folder: Path) -> str:
    """Return the name of the benchmark's public file that has this sha256; '' if there is no such file.

    `folder` has the files that `lumos data get` fetched. For a file whose sha256 is not in the catalogue, the sha256 of
    the first download to `folder` counts; that of a file that a person put there does not.
    """
    files = list_set(benchmark) if sha256 else []
    digests = ((file.name, file.sha256 or read_download_sha256(file, folder)) for file in files)
    return next((name for name, file_sha256 in digests if file_sha256 == sha256), "")
