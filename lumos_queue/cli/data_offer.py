"""Ask the person at the terminal whether to download a public file that a job needs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from lumos_queue.cli import output
from lumos_queue.util.wording import format_bytes

if TYPE_CHECKING:
    from lumos_queue.settings import Settings
    from lumos_queue.submission.data_files import MissingData

T = TypeVar("T")


def with_data(settings: Settings, make: Callable[[], T]) -> T:
    """Return the result of `make`. If `make` lacks a file and the person agrees, download the file and call it again.

    Raises MissingData if no person is at the terminal, or the person does not agree.
    """
    from lumos_queue.submission.data_files import MissingData

    try:
        return make()
    except MissingData as missing_data:
        if not _is_wanted(missing_data):
            raise
        _fetch(missing_data, settings)
    return make()


def _is_wanted(missing_data: MissingData) -> bool:
    if output.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    size = f"{format_bytes(missing_data.file.size)}, " if missing_data.file.size else ""
    output.say(
        f"There is no data of '{missing_data.benchmark}' here. Fetch it with: lumos data get "
        f"{missing_data.file.name} ({size}licence {missing_data.file.licence})"
    )
    output.ask("Fetch it now? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _fetch(missing_data: MissingData, settings: Settings) -> None:
    from lumos_queue.cli.downloads import format_download
    from lumos_queue.downloads.cache import fetch

    download = fetch(missing_data.file, settings.home / "data")
    output.say(f"{download.path}  {format_download(download)}")
