"""`python -m tests.structure`: print figures about the structure of the code of a checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tests.structure.limits import find_excesses, read_limits, select_measures
from tests.structure.report import measure_tree, write_table

LIMITS = Path(__file__).resolve().parents[2] / "pyproject.toml"
FOLDERS = ["lumos_queue", "db", "workers"]


def main(
    folders: Annotated[
        list[str] | None, typer.Argument(help=f"Packages below the root; {', '.join(FOLDERS)} if none.")
    ] = None,
    root: Annotated[Path, typer.Option(help="The checkout.")] = Path("."),
    lists: Annotated[bool, typer.Option("--list", help="Print the places that were counted, too.")] = False,
    only_limits: Annotated[
        bool,
        typer.Option("--limits", help="Print only what is above the limits of pyproject.toml; exit with 1 if any is."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
) -> None:
    """Measure circles of imports, lengths, types and names. The first package is measured subfolder by subfolder."""
    try:
        report = measure_tree(root, folders or FOLDERS)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if only_limits:
        lines = find_excesses(select_measures(report), read_limits(LIMITS))
        print("\n".join(lines) or "No limit is exceeded.")
        raise typer.Exit(bool(lines))
    print(json.dumps(report, indent=1) if as_json else write_table(report, lists))


if __name__ == "__main__":
    typer.run(main)
