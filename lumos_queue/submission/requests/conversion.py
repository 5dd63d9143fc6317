"""The requests of conversions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lumos_queue.submission.requests import file_fields as own
from lumos_queue.submission.requests import shared_options as shared
from lumos_queue.submission.requests.entrances import COMMAND_ONLY, SWEPT
from lumos_queue.submission.requests.option import MAX_INTEGER, Option


@dataclass(frozen=True, slots=True)
class ConversionRequest:
    """The request of `lumos convert`: gold rationales of a source, or the waiting rows of a conversion by rule."""

    source: Annotated[
        str,
        Option(
            "gsm8k, svamp, mawps, asdiv, wordmath, strategyqa, musique, hotpotqa, mind2web, spider, prm800k, "
            "aokvqa, webshop, rewoo, openagi; a benchmark of a plug-in (lumos plugins); a module's object, "
            "e.g. mylab.tasks:benchmark; or your own file (docs/own_data.md).",
            metavar="SOURCE|FILE",
            positional=True,
            may_lack=True,
            entrances=COMMAND_ONLY,
        ),
    ] = ""
    data: shared.Data = None
    split: Annotated[
        str,
        Option(
            "The split of the rows: train, dev or test; gsm8k has no dev, wordmath also has familiar, openagi "
            "has labelled. Your own file has the split own, its default. Required if the file's name contains "
            "another split than train.",
            shown_default="train",
            entrances=SWEPT,
        ),
    ] = ""
    limit: shared.Limit = 0
    deterministic: Annotated[bool, Option("Convert by rule, without a model.", entrances=COMMAND_ONLY)] = False
    teacher: Annotated[
        str, Option("Endpoint of the teacher: chat://HOST:PORT?model=NAME, chats:// (TLS), or any other.")
    ] = ""
    subgoals: Annotated[str, Option("Level of the subgoals: high, or low (one action each).", entrances=SWEPT)] = "high"
    reasks: Annotated[int, Option("Further calls of the teacher for a rejected row.", min=0, max=10)] = 1
    question: own.Question = ""
    answer: own.Answer = ()
    id: own.Id = ""
    choices: own.Choices = ""
    images: own.Images = ""
    rationale: own.Rationale = ""
    scorer: own.Scorer = ""
    domain: own.Domain = ""
    licence: own.Licence = ""
    title: own.Title = ""
    vision: Annotated[
        str, Option("The form of a row's image for the teacher: image, caption or none.", shown_default="image")
    ] = ""
    seed: shared.Seed = 0
    samples: Annotated[
        int,
        Option(
            "Samples of the teacher for each row, at most. The first that passes all checks is stored. If two "
            "agree, no further sample is drawn, and the row is noted.",
            min=1,
            max=1000,
        ),
    ] = 1
    temperature: Annotated[
        float | None,
        Option("Sampling temperature; 0: greedy. Default: 0.7 with --samples of 2 or more, else 0.", min=0.0),
    ] = None
    max_tokens: Annotated[int, Option("Maximum tokens of one reply.", min=1, max=MAX_INTEGER)] = 800
    price_prompt: shared.PricePrompt = 0.0
    price_completion: shared.PriceCompletion = 0.0
    budget: shared.Budget = 0.0
    perturbations: Annotated[
        int, Option("How often a row is checked with changed numbers; 0: not checked.", min=0, max=20)
    ] = 3
    longest: Annotated[
        int,
        Option(
            "Maximum tokens of a training conversation; longer ones are rejected as 'overlong'.", min=1, max=MAX_INTEGER
        ),
    ] = 1024
    tokenizer: Annotated[Path | None, Option("Folder of the tokenizer that counts these tokens.")] = None
    skip_bad_rows: shared.SkipBad = False
    options: shared.RowOptions = ()
    published: shared.Published = False
    waiting: Annotated[
        str,
        Option(
            "Send the waiting rows of that conversion by rule to the teacher, with their drafts and the "
            "reasons. The rows are stored, so no file is needed; SOURCE may be left out.",
            metavar="JOB",
            entrances=COMMAND_ONLY,
        ),
    ] = ""
    recheck: Annotated[
        str,
        Option(
            "List the accepted episodes of a conversion by rule that the present rules would reject or write "
            "differently. Nothing is changed.",
            metavar="JOB",
            entrances=COMMAND_ONLY,
        ),
    ] = ""
