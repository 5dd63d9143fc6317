"""`lumos db backup`: a consistent copy of the database while it is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output


def db_backup(
    file: Annotated[Path, typer.Argument(help="The new file; its folder must exist.")],
    json: opt.Json = False,
) -> None:
    """Copy the database into a new file, also while in use.

    A plain copy of the file can lose writes.
    """
    from db.backup import backup
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    with database(read_settings()) as opened:
        size = backup(opened, file)
    output.result({"file": str(file), "bytes": size}, lambda _: output.show(f"{file}: {size:,} bytes"))
