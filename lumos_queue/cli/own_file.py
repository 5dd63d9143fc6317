"""Options that describe a person's own file: `lumos evaluate FILE`. Each help text begins with `Own file`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _field(description: str) -> str:
    return f"Own file: the field {description}"


Question = Annotated[
    str,
    typer.Option(
        metavar="FIELD",
        help=_field("with the question. Default: the one called question, prompt, input or query."),
    ),
]
Answer = Annotated[
    list[str],
    typer.Option(
        metavar="FIELD",
        help=_field(
            "with the right answer, or a list of several. May be repeated. Default: the one called answer, target, "
            "output or label."
        ),
    ),
]
Id = Annotated[
    str,
    typer.Option("--id", metavar="FIELD", help=_field("with a row's id. Default: row numbers.")),
]
Choices = Annotated[
    str,
    typer.Option(
        metavar="FIELD",
        help=_field("with the choices, or several fields with commas. Default: the one called choices or options."),
    ),
]
Images = Annotated[
    str,
    typer.Option(metavar="FIELD", help=_field("with the path of an image, below the file's folder.")),
]
Rationale = Annotated[
    str,
    typer.Option(
        metavar="FIELD",
        help=_field(
            "with the rationale of the answer. Default: the one called rationale; of lumos convert also solution or "
            "explanation."
        ),
    ),
]
Scorer = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Own file: how answers are judged: number, exact, includes, f1, choice, yes_no, regex:PATTERN or judge. "
        "Default: what fits the first 1,000 answers, if they are all numbers, yes or no, or choices.",
    ),
]
Domain = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Own file: the domain of wording and actions: maths, complex_qa or multimodal. Default: maths for "
        "numbers, multimodal with images, else complex_qa.",
    ),
]
Licence = Annotated[str, typer.Option(help="Own file: the licence of its rows. Default: unknown.")]
Title = Annotated[
    str,
    typer.Option(
        help="Own file: its name in jobs: letters, digits, . _ and -. Default: the file's name.",
    ),
]
Judge = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="Own file, with --scorer judge: the endpoint of a model that grades answers; short for --role judge=URL.",
    ),
]
Rubric = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Own file, with --scorer judge: the judge's prompt, a text with {answer}, and {question} and {gold} where "
        "they matter. Default: it asks whether the answer states what the right answer states.",
    ),
]
Grades = Annotated[
    int,
    typer.Option(
        metavar="2|5",
        show_default="2",
        help="Own file, with --scorer judge: 2 for right or wrong, 5 for grades 1 to 5.",
    ),
]
Votes = Annotated[
    int,
    typer.Option(
        min=0,
        max=99,
        show_default="1",
        help="Own file, with --scorer judge: votes on each answer, whose median counts.",
    ),
]
