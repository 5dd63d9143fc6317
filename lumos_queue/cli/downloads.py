"""Commands about public data files: data list, data get."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

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

    folder, found = _folder(to), []
    for file in find_files(name):
        one = fetch(file, folder)
        found.append(
            {
                "name": one.name,
                "path": str(one.path),
                "sha256": one.sha256,
                "licence": one.licence,
                "new": one.new,
                "checked": one.checked,
            }
        )
        if not output.as_json:
            output.show(f"{one.path}  {format_download(one)}")
    output.result({"files": found}, lambda _: None)


def format_download(one: Any) -> str:
    """Whether a file was downloaded now, and what its bytes were compared with."""
    how = "downloaded" if one.new else "already there"
    if one.checked == "nothing":
        return f"{how}; no checksum is known: {one.sha256[:12]}… was recorded, later downloads must match it"
    if one.checked == "first download":
        return f"{how}; the same checksum as the first download; no other is known"
    return f"{how}; its checksum is correct"


def data_list(to: To = None, json: opt.Json = False) -> None:
    """List the public files that can be downloaded."""
    from lumos_queue.downloads.cache import path_of
    from lumos_queue.downloads.catalogue import FILES

    folder = _folder(to)
    found = [
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
    output.result({"folder": str(folder), "files": found}, _print_files)


def _print_files(found: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("name", "licence", "bytes", "checksum", "here"):
        table.add_column(name, justify="right" if name == "bytes" else "left")
    for one in found["files"]:
        size = f"{one['bytes']:,}" if one["bytes"] else ""
        checksum = "known" if one["sha256"] else "from the first download"
        table.add_row(one["name"], one["licence"], size, checksum, "yes" if one["here"] else "")
    console = output.console()
    console.print(table)
    console.print(f"Folder: {found['folder']}", markup=False, soft_wrap=True)
