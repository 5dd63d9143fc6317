"""Options that describe a person's own file. Each help text begins with `Own file`."""

from __future__ import annotations

from typing import Annotated

from lumos_queue.submission.requests.entrances import COMMAND_ONLY
from lumos_queue.submission.requests.option import Option

Question = Annotated[
    str,
    Option(
        "Own file: the field with the question. Default: the one called question, prompt, input or query.",
        metavar="FIELD",
        entrances=COMMAND_ONLY,
    ),
]
Answer = Annotated[
    tuple[str, ...],
    Option(
        "Own file: the field with the right answer, or a list of several. May be repeated. Default: the "
        "one called answer, target, output or label.",
        metavar="FIELD",
        entrances=COMMAND_ONLY,
    ),
]
Id = Annotated[
    str, Option("Own file: the field with a row's id. Default: row numbers.", metavar="FIELD", entrances=COMMAND_ONLY)
]
Choices = Annotated[
    str,
    Option(
        "Own file: the field with the choices, or several fields with commas. Default: the one called "
        "choices or options.",
        metavar="FIELD",
        entrances=COMMAND_ONLY,
    ),
]
Images = Annotated[
    str,
    Option(
        "Own file: the field with the path of an image, below the file's folder.",
        metavar="FIELD",
        entrances=COMMAND_ONLY,
    ),
]
Rationale = Annotated[
    str,
    Option(
        "Own file: the field with the rationale of the answer. Default: the one called rationale; of lumos "
        "convert also solution or explanation.",
        metavar="FIELD",
        entrances=COMMAND_ONLY,
    ),
]
Scorer = Annotated[
    str,
    Option(
        "Own file: how answers are judged: number, exact, includes, f1, choice, yes_no, regex:PATTERN or "
        "judge. Default: what fits the first 1,000 answers, if they are all numbers, yes or no, or "
        "choices.",
        metavar="NAME",
    ),
]
Domain = Annotated[
    str,
    Option(
        "Own file: the domain of wording and actions: maths, complex_qa or multimodal. Default: maths for "
        "numbers, multimodal with images, else complex_qa.",
        metavar="NAME",
    ),
]
Licence = Annotated[str, Option("Own file: the licence of its rows. Default: unknown.")]
Title = Annotated[str, Option("Own file: its name in jobs: letters, digits, . _ and -. Default: the file's name.")]

#: The fields of a request that describe a person's own file.
NAMES = ("question", "answer", "id", "choices", "images", "rationale", "scorer", "domain", "licence", "title")
