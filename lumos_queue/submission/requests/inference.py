"""The request of an evaluation or an inference. Each field declares an option of every entrance that it names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lumos_queue.submission.requests import file_fields as own
from lumos_queue.submission.requests import shared_options as shared
from lumos_queue.submission.requests.entrances import CHANGED, COMMAND_ONLY, SWEPT, SWEPT_AND_CHANGED
from lumos_queue.submission.requests.option import MAX_INTEGER, Option


@dataclass(frozen=True, slots=True)
class InferenceRequest:
    """The options of `lumos evaluate` and `lumos infer`, as their caller gives them: unchecked."""

    benchmark: Annotated[
        str,
        Option(
            "wordmath, gsm8k, strategyqa, … (docs/benchmarks.md has all); or your own file, or a TOML file that "
            "describes it (docs/own_data.md).",
            metavar="BENCHMARK|FILE",
            positional=True,
            required=True,
        ),
    ] = ""
    data: shared.Data = None
    split: Annotated[
        str,
        Option(
            "The split of the rows: train, dev, test, or another split of the benchmark. Default: test; of your own "
            "file 'own'.",
            entrances=SWEPT,
        ),
    ] = ""
    formulation: Annotated[
        str,
        Option(
            "iterative (LUMOS-I), one-pass (LUMOS-O), cot, direct, integrated, teacher-forced or caption; of tool "
            "agents react, dfsdt, rewoo or sum2act; model-synthesis (openagi); open-ended. Default: cot with --solver "
            "alone, else iterative.",
            entrances=CHANGED,
            change_help="Another formulation.",
        ),
    ] = ""
    agent: shared.AgentName = ""
    planner: shared.Planner = ""
    grounder: shared.Grounder = ""
    solver: shared.Solver = ""
    limit: shared.Limit = 0
    samples: shared.Samples = 1
    seed: shared.Seed = 0
    temperature: Annotated[
        float | None,
        Option(
            "Sampling temperature; 0: greedy. Default: the formulation's for a role, else 0.",
            min=0.0,
            entrances=CHANGED,
            change_help="Another sampling temperature; 0: greedy.",
        ),
    ] = None
    top_p: Annotated[
        float | None,
        Option(
            "Nucleus sampling; 1: off. Default: the formulation's, else 1.",
            min=0.0,
            max=1.0,
            entrances=CHANGED,
            change_help="Another nucleus; 1: off.",
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        Option(
            "Maximum number of tokens of one reply. Default: the formulation's for a role, else 512.",
            min=1,
            max=MAX_INTEGER,
            entrances=SWEPT_AND_CHANGED,
            change_help="Another limit of a reply's tokens.",
        ),
    ] = None
    max_subgoals: shared.MaxSubgoals = 0
    framing: shared.Framing = "train"
    skip_bad_rows: shared.SkipBad = False
    published: shared.Published = False
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
    judge: Annotated[
        str,
        Option(
            "Own file, with --scorer judge: the endpoint of a model that grades answers; short for --role judge=URL.",
            metavar="URL",
            entrances=COMMAND_ONLY,
        ),
    ] = ""
    rubric: Annotated[
        Path | None,
        Option(
            "Own file, with --scorer judge: the judge's prompt, a text with {answer}, and {question} and {gold} where "
            "they matter. Default: it asks whether the answer states what the right answer states.",
            metavar="FILE",
        ),
    ] = None
    grades: Annotated[
        int,
        Option(
            "Own file, with --scorer judge: 2 for right or wrong, 5 for grades 1 to 5.",
            metavar="2|5",
            shown_default="2",
        ),
    ] = 0
    votes: Annotated[
        int,
        Option(
            "Own file, with --scorer judge: votes on each answer, whose median counts.",
            min=0,
            max=99,
            shown_default="1",
        ),
    ] = 0
    roles: shared.Roles = ()
    tools: shared.ToolOptions = ()
    options: shared.RowOptions = ()
    shots: Annotated[
        int | None,
        Option(
            "Demonstrations in the prompt; default: with iterative all of webshop and intercode_sql, else none.", min=0
        ),
    ] = None
    answer_by: Annotated[
        str,
        Option(
            "The answer is the last value ('last') or what the QA tool concludes ('qa', as in LUMOS). Default: 'qa' "
            "if the domain has such a tool."
        ),
    ] = ""
    live: Annotated[bool, Option("Allow actions to call external tools, such as Wikipedia.")] = False
    replay: Annotated[str, Option("Answer calls of external tools as that job recorded them.", metavar="JOB")] = ""
    draw: Annotated[int, Option("Tasks drawn into each sample set; 0: all tasks, no sets.", min=0, max=MAX_INTEGER)] = 0
    sets: Annotated[int, Option("Number of sample sets, default 3; their tasks may overlap.", min=0, max=100)] = 0
    at_limit: shared.AtLimit = ""
    reader: Annotated[
        str,
        Option(
            "How cot and direct read the answer from a reply: 'phrase' (what follows \"answer is\", or the whole "
            "reply, as in LUMOS) or 'flexible' (as instruct models write answers). Default: 'flexible' with chat://, "
            "else 'phrase'.",
            entrances=CHANGED,
        ),
    ] = ""
    settings: shared.SettingOptions = ()
    samplings: shared.Samplings = ()
    yes: Annotated[bool, Option("Approve every plan unchanged (open-ended); else a person has to approve it.")] = False
    stop: Annotated[
        tuple[str, ...] | None,
        Option(
            "A string at which each reply ends; \\n and \\t are read; '': none. May be repeated. Default: the "
            "formulation's for a role; else none for chat://, function: and plug-ins, and the line break for the "
            "others.",
            metavar="TEXT",
            entrances=SWEPT_AND_CHANGED,
        ),
    ] = None
    system: Annotated[
        str | None,
        Option(
            "The system message of cot and direct; '': none. Default: over chat:// an instruction that fits the "
            "benchmark's answers, else none.",
            metavar="TEXT|@FILE",
            entrances=SWEPT_AND_CHANGED,
        ),
    ] = None
    prompt: Annotated[
        str | None,
        Option(
            "A template of the prompts of cot and direct: {question}, {choices} and {examples} are replaced; or of "
            "model-synthesis, with {question} alone.",
            metavar="FILE",
            entrances=SWEPT_AND_CHANGED,
        ),
    ] = None
    request: Annotated[
        tuple[str, ...],
        Option(
            "A field of the requests to openai://, chat:// and tgi:// servers, e.g. reasoning_effort='\"low\"' or "
            "top_k=20; null leaves a field out. May be repeated.",
            metavar="[ROLE.]NAME=JSON",
            entrances=CHANGED,
            pairs="json",
        ),
    ] = ()
    price_prompt: shared.PricePrompt = 0.0
    price_completion: shared.PriceCompletion = 0.0
    budget: shared.Budget = 0.0
