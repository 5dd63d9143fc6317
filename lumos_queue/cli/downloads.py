"""Commands about public data files: data list, data get."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.util.wording import format_bytes

To = Annotated[Path | None, typer.Option("--to", help="Folder of the files; default: data in LUMOS_HOME.")]


def _folder(to: Path | None) -> Path:
    from lumos_queue.settings import read_settings

    return to or read_settings().home / "data"


def data_get(
    name: Annotated[str, typer.Argument(help="A dataset, e.g. gsm8k, or one of its files, e.g. gsm8k/train.jsonl.")],
    to: To = None,
    json: opt.Json = False,
) -> None:
    """Download public files and check them."""
    from lumos_queue.downloads.cache import fetch
    from lumos_queue.downloads.catalogue import find_files

    folder, files = _folder(to), []
    for file in find_files(name):
        download = fetch(file, folder)
        files.append(
            {
                "name": download.name,
                "path": str(download.path),
                "sha256": download.sha256,
                "licence": download.licence,
                "new": download.new,
                "checked": download.checked,
            }
        )
        if not output.as_json:
            output.show(f"{download.path}  {format_download(download)}")
    output.result({"files": files}, lambda _: None)


def format_download(download: Any) -> str:
    """Return text about a download: whether it is new, and how its checksum was verified."""
    status = "downloaded" if download.new else "already there"
    if download.checked == "nothing":
        return f"{status}; no checksum is known: {download.sha256[:12]}… was recorded, later downloads must match it"
    if download.checked == "first download":
        return f"{status}; the same checksum as the first download; no other is known"
    return f"{status}; its checksum is correct"


def data_list(to: To = None, json: opt.Json = False) -> None:
    """List the public files that can be downloaded."""
    from lumos_queue.downloads.cache import path_of
    from lumos_queue.downloads.catalogue import FILES

    folder = _folder(to)
    files = [
        {
            "name": file.name,
            "licence": file.licence,
            "bytes": file.size or None,
            "sha256": file.sha256 or None,
            "here": path_of(file, folder).is_file(),
            "url": file.url,
        }
        for file in FILES
    ]
    output.result({"folder": str(folder), "files": files}, _print_files)


def _print_files(listing: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("name", "licence", "size", "checksum", "here"):
        table.add_column(name, justify="right" if name == "size" else "left")
    for file in listing["files"]:
        size = format_bytes(file["bytes"]) if file["bytes"] else ""
        checksum = "known" if file["sha256"] else "from the first download"
        table.add_row(file["name"], file["licence"], size, checksum, "yes" if file["here"] else "")
    console = output.console()
    console.print(table)
    console.print(f"Folder: {listing['folder']}", markup=False, soft_wrap=True)
