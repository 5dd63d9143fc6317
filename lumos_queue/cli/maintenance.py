"""Commands of the database: db upgrade, db backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.util.wording import format_bytes


def db_upgrade(json: opt.Json = False) -> None:
    """Migrate the database's tables to this version of the code."""
    from db.engine.migrate import current, head, upgrade
    from lumos_queue.cli.deployment import open_deployment

    database = open_deployment().open_at_any_revision()
    former_revision = current(database)
    if former_revision is None or former_revision < head():
        upgrade(database)
    revisions = {"before": former_revision, "revision": current(database)}
    output.result(revisions, lambda value: output.show(f"the database is at revision {value['revision']}"))


def db_backup(
    file: Annotated[Path, typer.Argument(help="The new file; its folder must exist.")],
    json: opt.Json = False,
) -> None:
    """Copy the database into a new file, also while it is in use.

    A plain copy of the file can lose writes.
    """
    from db.engine.backup import backup
    from lumos_queue.deployment.database import database
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database:
        size = backup(job_database, file)
    output.result({"file": str(file), "bytes": size}, lambda _: output.show(f"{file}: {format_bytes(size)}"))
