"""`python -m tests.structure`: print how the code of a checkout is built, in figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tests.structure.report import measure_tree, write_table

FOLDERS = ["lumos_queue", "db", "workers"]


def main(
    folders: Annotated[
        list[str] | None, typer.Argument(help=f"Packages below the root; {', '.join(FOLDERS)} if none.")
    ] = None,
    root: Annotated[Path, typer.Option(help="The checkout.")] = Path("."),
    lists: Annotated[bool, typer.Option("--list", help="Print what was counted, too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Measure circles of imports, lengths, types and names. The first package is measured subfolder by subfolder."""
    try:
        found = measure_tree(root, folders or FOLDERS)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    print(json.dumps(found, indent=1) if as_json else write_table(found, lists))


if __name__ == "__main__":
    typer.run(main)
