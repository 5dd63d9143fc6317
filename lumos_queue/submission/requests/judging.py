"""The requests in which a model judges stored episodes: `lumos judge`, and `lumos score --judge`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lumos_queue.submission.requests import shared_options as shared
from lumos_queue.submission.requests.option import Option

Job = Annotated[str, Option("A job's id, or an unambiguous beginning of it.", metavar="JOB", positional=True)]


@dataclass(frozen=True, slots=True)
class JudgingRequest:
    """The request of `lumos judge`: a model votes on the runs of tool agents of a job."""

    job: Job = ""
    against: Annotated[str, Option("Also compare each run with that job's run of the same task.", metavar="JOB")] = ""
    votes: Annotated[
        int,
        Option(
            "Votes on each run (ToolEval: 4). A tie counts 1/2 by rule=ours and passes by rule=tooleval.",
            min=1,
            max=99,
        ),
    ] = 3
    roles: Annotated[
        tuple[str, ...], Option("The judge's endpoint: judge=URL.", flag="--role", metavar="NAME=URL")
    ] = ()
    seed: shared.Seed = 0
    temperature: shared.Temperature = 0.2
    top_p: shared.TopP = 1.0
    max_tokens: shared.MaxTokens = 512
    framing: shared.Framing = "train"


@dataclass(frozen=True, slots=True)
class GradingRequest:
    """The request of `lumos score`: a scorer, or a model that grades the answers of a job."""

    job: Job = ""
    scorer: Annotated[
        str,
        Option(
            "same_words, other_reader, numbers, one of a plug-in, or package.module:object (docs/plugins.md).",
            metavar="NAME",
        ),
    ] = ""
    judge: Annotated[
        str, Option("The endpoint of a model that grades the answers, in a separate job.", metavar="URL")
    ] = ""
    rubric: Annotated[
        Path | None,
        Option(
            "With --judge: its prompt, a text with {answer}, and {question} and {gold} where they matter.",
            metavar="FILE",
        ),
    ] = None
    grades: Annotated[
        int, Option("With --judge: 2 for right or wrong, 5 for grades 1 to 5.", metavar="2|5", shown_default="2")
    ] = 0
    votes: Annotated[
        int,
        Option("With --judge: votes on each answer, whose median counts.", min=0, max=99, shown_default="1"),
    ] = 0
    seed: shared.Seed = 0
    samplings: shared.Samplings = ()
