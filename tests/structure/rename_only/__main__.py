"""`python -m tests.structure.rename_only`: verify that a change renames, and does nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tests.structure.rename_only.mapping import Mapping, read_mapping
from tests.structure.rename_only.trees import Report, compare_trees


def main(
    old: Annotated[Path, typer.Argument(help="The tree before the change.")],
    new: Annotated[Path, typer.Argument(help="The tree after it.")],
    mapping: Annotated[
        Path | None,
        typer.Option("--map", help="Lines KIND OLD -> NEW; tests/structure/rename_only/mapping.py explains."),
    ] = None,
) -> None:
    """Print in which lines the trees differ beyond renamed local variables, docstrings, and what the mapping lists.

    The exit code is 1 if they do. Other files than Python are listed, not judged.
    """
    try:
        report = compare_trees(old, new, read_mapping(mapping) if mapping else Mapping())
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    print(write_report(report))
    raise typer.Exit(bool(report.problems))


def write_report(report: Report) -> str:
    lines = []
    for title, texts in (
        ("Refused", report.problems),
        ("To check", report.to_check),
        ("Other files that differ", report.other_files),
    ):
        if texts:
            lines += [f"{title}:", *(f"    {text}" for text in texts)]
    files = (
        f"{report.equal} equal, {report.renamed} renamed or reworded ({report.names} names), {report.refused} refused"
    )
    counts = f"{len(report.problems)} problems, {len(report.to_check)} to check"
    lines.append(f"Python files: {files}; {counts}; {len(report.other_files)} other files differ")
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(main)
