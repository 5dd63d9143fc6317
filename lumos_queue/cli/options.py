"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import output
from lumos_queue.submission.ranges import MAX_INTEGER


def _json(value: bool) -> bool:
    output.as_json = value
    return value


Json = Annotated[bool, typer.Option("--json", callback=_json, help="Print one JSON object as the last line.")]
BenchmarkOrFile = Annotated[
    str,
    typer.Argument(
        metavar="BENCHMARK|FILE",
        help="wordmath, gsm8k, strategyqa, … (docs/benchmarks.md has all); or your own file, or a TOML file that "
        "describes it (docs/own_data.md).",
    ),
]
Data = Annotated[
    Path | None, typer.Option(help="The benchmark's original file or folder. Default: what `lumos data get` fetched.")
]
Split = Annotated[
    str,
    typer.Option(
        help="The split of the rows: train, dev, test, or another split of the benchmark. Default: test; of your own "
        "file 'own'."
    ),
]
Limit = Annotated[int, typer.Option(min=0, max=MAX_INTEGER, help="Use only the first so many rows; 0: all.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad-rows", help="Skip rows that cannot be read, and report them.")]
Published = Annotated[
    bool,
    typer.Option("--published", help="State that the rows are the published ones, where their file is not known."),
]
Again = Annotated[bool, typer.Option("--again", help="Run it again even if the same request was made before.")]
Name = Annotated[str, typer.Option("--name", help="The job's name; `lumos tag` changes it later.")]
Tags = Annotated[
    list[str], typer.Option("--tag", metavar="KEY=VALUE", help="A word to find the job by. May be repeated.")
]
Follow = Annotated[bool, typer.Option("--follow/--detach", help="With a broker: wait until the job ends, or not.")]
Priority = Annotated[int, typer.Option(min=-MAX_INTEGER, max=MAX_INTEGER, help="Jobs with a higher priority go first.")]
Concurrency = Annotated[
    int,
    typer.Option(
        min=0,
        max=MAX_INTEGER,
        metavar="N",
        help="At most N requests in flight at one endpoint, from one worker process; 0: LUMOS_CONCURRENCY. A cap over "
        "all processes is set with: lumos endpoints URL --cap N",
    ),
]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, or an unambiguous beginning of it.")]
By = Annotated[
    list[str],
    typer.Option(
        "--by",
        metavar="FIELD",
        help="Also the scores by a field: a further column of the data, or what the benchmark groups by. Repeatable.",
        show_default=False,
    ),
]
JobWhere = Annotated[
    str,
    typer.Option(
        "--where",
        metavar="FILTER",
        help="Which jobs: terms FIELD OPERATOR VALUE that must all hold, as in 'benchmark=gsm8k tag.team=maths "
        "state=running' (docs/queries.md).",
    ),
]
Formulation = Annotated[
    str,
    typer.Option(
        help="iterative (LUMOS-I), one-pass (LUMOS-O), cot, direct, integrated, teacher-forced or caption; of tool "
        "agents react, dfsdt, rewoo or sum2act; model-synthesis (openagi); open-ended. Default: cot with --solver "
        "alone, else iterative."
    ),
]
AgentName = Annotated[
    str, typer.Option("--agent", help="A built-in agent: starter, or starter-scratch (its models from scratch).")
]
Planner = Annotated[
    str,
    typer.Option(
        help="Its endpoint: tgi://HOST:PORT, openai://HOST:PORT?model=NAME, chat://HOST:PORT?model=NAME (instruct "
        "models, with --shots), local:DIR, run:JOB (the models of a training job, also for the grounder), "
        "function:package.module:NAME or scripted:FILE (docs/endpoints.md)."
    ),
]
Grounder = Annotated[str, typer.Option(help="Its endpoint, as for --planner.")]
Solver = Annotated[
    str, typer.Option(help="Endpoint of the single model of cot, direct and integrated, as for --planner.")
]
Roles = Annotated[
    list[str],
    typer.Option(
        "--role",
        metavar="NAME=URL",
        help="Endpoint of another role: qa, vqa, judge, captioner, policy, router, … May be repeated.",
    ),
]
ToolOptions = Annotated[
    list[str],
    typer.Option(
        "--tool",
        metavar="NAME=VALUE",
        help="A setting of the domain's actions, e.g. corpus=FILE or experts=own. May be repeated.",
    ),
]
RowOptions = Annotated[
    list[str],
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="A setting of the benchmark's reader, e.g. images=DIR. May be repeated.",
    ),
]
Shots = Annotated[
    int | None,
    typer.Option(
        min=0, help="Demonstrations in the prompt; default: with iterative all of webshop and intercode_sql, else none."
    ),
]
AnswerBy = Annotated[
    str,
    typer.Option(
        "--answer-by",
        help="The answer is the last value ('last') or what the QA tool concludes ('qa', as in LUMOS). "
        "Default: 'qa' if the domain has such a tool.",
    ),
]
AtLimit = Annotated[
    str,
    typer.Option(
        "--at-limit",
        help="An episode that reaches the limit of subgoals counts as 'wrong', or the agent must 'conclude' and this "
        "answer is judged. Default, as in LUMOS: 'conclude' in maths, else 'wrong'.",
    ),
]
Reader = Annotated[
    str,
    typer.Option(
        help="How cot and direct read the answer from a reply: 'phrase' (what follows \"answer is\", or the whole "
        "reply, as in LUMOS) or 'flexible' (as instruct models write answers). Default: 'flexible' with chat://, else "
        "'phrase'.",
    ),
]
SettingOptions = Annotated[
    list[str],
    typer.Option(
        "--setting",
        metavar="NAME=VALUE",
        help="A limit of each episode (calls, tokens, actions; steps, depth, unit where the formulation has them), or "
        "a setting of the formulation. May be repeated.",
    ),
]
Samplings = Annotated[
    list[str],
    typer.Option(
        "--sampling",
        metavar="ROLE.NAME=VALUE",
        help="temperature, top_p or max_tokens of one role, e.g. policy.temperature=1. May be repeated.",
    ),
]
Yes = Annotated[
    bool, typer.Option("--yes", help="Approve every plan unchanged (open-ended); else a person has to approve it.")
]
Live = Annotated[bool, typer.Option("--live", help="Allow actions to call external tools, such as Wikipedia.")]
Replay = Annotated[str, typer.Option(metavar="JOB", help="Answer calls of external tools as that job recorded them.")]
Draw = Annotated[
    int, typer.Option(min=0, max=MAX_INTEGER, help="Tasks drawn into each sample set; 0: all tasks, no sets.")
]
Sets = Annotated[int, typer.Option(min=0, max=100, help="Number of sample sets, default 3; their tasks may overlap.")]
Samples = Annotated[int, typer.Option(min=1, max=1000, help="Episodes per task.")]
Budget = Annotated[
    float,
    typer.Option(min=0.0, help="USD after which the job is paused; calls then in flight still cost. 0: no limit."),
]
PricePrompt = Annotated[float, typer.Option(min=0.0, help="USD per million prompt tokens.")]
PriceCompletion = Annotated[float, typer.Option(min=0.0, help="USD per million completion tokens.")]
Seed = Annotated[int, typer.Option(min=0, max=MAX_INTEGER, help="Seed of all sampling.")]
ChosenTemperature = Annotated[
    float | None,
    typer.Option(min=0.0, help="Sampling temperature; 0: greedy. Default: the formulation's for a role, else 0."),
]
ChosenTopP = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="Nucleus sampling; 1: off. Default: the formulation's, else 1.")
]
ChosenMaxTokens = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MAX_INTEGER,
        help="Maximum number of tokens of one reply. Default: the formulation's for a role, else 512.",
    ),
]
MaxSubgoals = Annotated[
    int,
    typer.Option(
        min=0,
        max=1000,
        help="Limit of subgoals of an iterative episode; 0: the domain's default, 8 (web 20, shop 6).",
    ),
]
Stop = Annotated[
    list[str],
    typer.Option(
        metavar="TEXT",
        help="A string at which each reply ends; \\n and \\t are read; '': none. May be repeated. Default: the "
        "formulation's for a role; else none for chat://, function: and plug-ins, and the line break for the others.",
    ),
]
System = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="The system message of cot and direct; '': none. Default: over chat:// an instruction that fits the "
        "benchmark's answers, else none.",
    ),
]
Prompt = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A template of the prompts of cot and direct: {question}, {choices} and {examples} are replaced; "
        "or of model-synthesis, with {question} alone.",
    ),
]
Requests = Annotated[
    list[str],
    typer.Option(
        "--request",
        metavar="[ROLE.]NAME=JSON",
        help="A field of the requests to openai://, chat:// and tgi:// servers, e.g. reasoning_effort='\"low\"' or "
        "top_k=20; null leaves a field out. May be repeated.",
    ),
]
Framing = Annotated[str, typer.Option(help="Layout of the turns: train, or eval as in the original's evaluation.")]
