"""`lumos data openagi`: build OpenAGI's data from the published data sets that the paper took its samples from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.submission.requests.option import MAX_INTEGER
from lumos_queue.util.model_loading import import_libraries


def data_openagi(
    out: Annotated[Path, typer.Option(help="Folder for the tasks; it must not exist.")],
    folders: Annotated[
        list[Path],
        typer.Option("--from", help="A folder with data sets, or a .zip or .tar of one. May be repeated."),
    ],
    more_folders: Annotated[
        list[Path] | None, typer.Argument(metavar="FOLDER", help="Further folders, as --from A B C.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, max=1000, help="Samples of a task; the paper has 100.")] = 100,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_INTEGER, help="Seed of the draw, of noise and of masked words.")
    ] = 0,
    first: Annotated[
        bool, typer.Option("--first", help="Take the first samples instead of a draw, as the released code does.")
    ] = False,
    tool: Annotated[
        list[str],
        typer.Option(
            help="machine-translation=URL: the expert that makes German references; default: hf:t5-large, as the "
            "released code."
        ),
    ] = [],
    json: opt.Json = False,
) -> None:
    """Build OpenAGI's tasks from published data sets.

    Reads ImageNet-1K, COCO 2017, CNN/DailyMail, SST-2, TextVQA and SQuAD in their published layouts, and writes tasks
    in the released layout with a manifest. Tasks whose data are missing are listed. Use the folder with --data.
    """
    from lumos_queue.benchmarks.openagi.builder.translator import find_translator
    from lumos_queue.submission.agents import parse_pairs

    with import_libraries():
        from lumos_queue.benchmarks.openagi.builder.build import BuildOptions, as_json, build

    translator, problem = find_translator(parse_pairs("--tool", tool))
    options = BuildOptions(samples, seed, first)
    report = build([*folders, *(more_folders or ())], out, options, translator, problem, output.say)
    output.result(as_json(report, out), _print_report)


def _print_report(result: dict[str, Any]) -> None:
    output.show(f"{len(result['tasks'])} tasks in {result['folder']}")
    reasons: dict[str, list[int]] = {}
    for task, reason in result["missing"].items():
        reasons.setdefault(reason, []).append(task)
    for reason, tasks in reasons.items():
        output.say(f"missing: {_format_ranges(tasks)}: {reason}")


def _format_ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as text, with ranges: '0-14, 18'."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    label = "task" if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else "tasks"
    return f"{label} {', '.join(f'{start}' if start == end else f'{start}-{end}' for start, end in ranges)}"
