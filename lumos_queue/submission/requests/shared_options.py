"""Options that the requests of several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from lumos_queue.submission.requests.entrances import CHANGED, EXTENDED, SWEPT
from lumos_queue.submission.requests.option import MAX_INTEGER, Option

Data = Annotated[
    Path | None,
    Option(
        "The benchmark's original file or folder. Default: what `lumos data get` fetched.",
        entrances=SWEPT,
    ),
]
Limit = Annotated[
    int,
    Option(
        "Use only the first so many rows; 0: all.",
        min=0,
        max=MAX_INTEGER,
        entrances=SWEPT | EXTENDED,
        change_help="The first so many rows; 0: all. Default: as in JOB.",
    ),
]
SkipBad = Annotated[bool, Option("Skip rows that cannot be read, and report them.")]
Published = Annotated[bool, Option("State that the rows are the published ones, where their file is not known.")]
Grounder = Annotated[str, Option("Its endpoint, as for --planner.", entrances=CHANGED)]
Solver = Annotated[
    str, Option("Endpoint of the single model of cot, direct and integrated, as for --planner.", entrances=CHANGED)
]
Benchmark = Annotated[
    str, Option("wordmath, gsm8k, strategyqa, webshop, … (docs/benchmarks.md has all).", positional=True)
]
AgentName = Annotated[
    str, Option("A built-in agent: starter, or starter-scratch (its models from scratch).", entrances=CHANGED)
]
Planner = Annotated[
    str,
    Option(
        "Its endpoint: tgi://HOST:PORT, openai://HOST:PORT?model=NAME, chat://HOST:PORT?model=NAME "
        "(instruct models, with --shots), local:DIR, run:JOB (the models of a training job, also for the "
        "grounder), function:package.module:NAME or scripted:FILE (docs/endpoints.md).",
        entrances=CHANGED,
    ),
]
Roles = Annotated[
    tuple[str, ...],
    Option(
        "Endpoint of another role: qa, vqa, judge, captioner, policy, router, … May be repeated.",
        flag="--role",
        metavar="NAME=URL",
        entrances=CHANGED,
        pairs="text",
    ),
]
ToolOptions = Annotated[
    tuple[str, ...],
    Option(
        "A setting of the domain's actions, e.g. corpus=FILE or experts=own. May be repeated.",
        flag="--tool",
        metavar="NAME=VALUE",
        entrances=CHANGED,
        pairs="text",
    ),
]
RowOptions = Annotated[
    tuple[str, ...],
    Option(
        "A setting of the benchmark's reader, e.g. images=DIR. May be repeated.",
        flag="--option",
        metavar="NAME=VALUE",
        pairs="text",
    ),
]
AtLimit = Annotated[
    str,
    Option(
        "An episode that reaches the limit of subgoals counts as 'wrong', or the agent must 'conclude' and "
        "this answer is judged. Default, as in LUMOS: 'conclude' in maths, else 'wrong'."
    ),
]
SettingOptions = Annotated[
    tuple[str, ...],
    Option(
        "A limit of each episode (calls, tokens, actions; steps, depth, unit where the formulation has "
        "them), or a setting of the formulation. May be repeated.",
        flag="--setting",
        metavar="NAME=VALUE",
        entrances=CHANGED,
        pairs="text",
    ),
]
Samplings = Annotated[
    tuple[str, ...],
    Option(
        "temperature, top_p or max_tokens of one role, e.g. policy.temperature=1. May be repeated.",
        flag="--sampling",
        metavar="ROLE.NAME=VALUE",
        entrances=CHANGED,
        pairs="text",
    ),
]
Samples = Annotated[
    int,
    Option(
        "Episodes per task.", min=1, max=1000, entrances=EXTENDED, change_help="Episodes per task. Default: as in JOB."
    ),
]
Budget = Annotated[
    float, Option("USD after which the job is paused; calls then in flight still cost. 0: no limit.", min=0.0)
]
PricePrompt = Annotated[float, Option("USD per million prompt tokens.", min=0.0)]
PriceCompletion = Annotated[float, Option("USD per million completion tokens.", min=0.0)]
Seed = Annotated[
    int,
    Option(
        "Seed of all sampling.", min=0, max=MAX_INTEGER, entrances=CHANGED, change_help="Another seed of all sampling."
    ),
]
Temperature = Annotated[float, Option("Sampling temperature; 0: greedy.", min=0.0)]
TopP = Annotated[float, Option("Nucleus sampling; 1: off.", min=0.0, max=1.0)]
MaxTokens = Annotated[int, Option("Maximum number of tokens of one reply.", min=1, max=MAX_INTEGER)]
MaxSubgoals = Annotated[
    int,
    Option("Limit of subgoals of an iterative episode; 0: the domain's default, 8 (web 20, shop 6).", min=0, max=1000),
]
Framing = Annotated[str, Option("Layout of the turns: train, or eval as in the original's evaluation.")]
