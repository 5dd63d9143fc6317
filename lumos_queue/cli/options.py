"""What the options of several commands are called and mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import output

MOST = 2**31 - 1  #: both databases keep numbers up to this one


def _json(value: bool) -> bool:
    output.as_json = value
    return value


Json = Annotated[bool, typer.Option("--json", callback=_json, help="Print one JSON object as the last line.")]
Benchmark = Annotated[str, typer.Argument(help="wordmath, gsm8k, strategyqa, webshop, …: any of the README's table.")]
Data = Annotated[Path | None, typer.Option(help="The benchmark's original file or folder.")]
Split = Annotated[str, typer.Option(help="What the rows are: train, dev or test.")]
Limit = Annotated[int, typer.Option(min=0, max=MOST, help="Only the first rows; 0: all.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad-rows", help="Leave out rows that cannot be read, and say so.")]
Again = Annotated[bool, typer.Option("--again", help="Run even if the same request was made before.")]
Follow = Annotated[bool, typer.Option("--follow/--detach", help="With a broker: watch until the job ends.")]
Priority = Annotated[int, typer.Option(min=-MOST, max=MOST, help="Higher goes first.")]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, or a beginning of it that is its alone.")]
Formulation = Annotated[
    str,
    typer.Option(help="iterative (LUMOS-I), one-pass (LUMOS-O), cot, direct, integrated, teacher-forced or caption."),
]
AgentName = Annotated[str, typer.Option("--agent", help="A ready agent: starter.")]
Planner = Annotated[str, typer.Option(help="tgi://HOST:PORT, openai://HOST:PORT?model=NAME, local:DIR, scripted:FILE.")]
Grounder = Annotated[str, typer.Option(help="As --planner.")]
Solver = Annotated[str, typer.Option(help="As --planner: the one model of cot, direct and integrated.")]
Roles = Annotated[
    list[str],
    typer.Option(
        "--role", metavar="NAME=URL", help="Who plays another role: qa, vqa, judge or captioner. May be repeated."
    ),
]
ToolOptions = Annotated[
    list[str],
    typer.Option(
        "--tool", metavar="NAME=VALUE", help="How the domain's actions work, e.g. corpus=FILE. May be repeated."
    ),
]
RowOptions = Annotated[
    list[str],
    typer.Option(
        "--option", metavar="NAME=VALUE", help="How the benchmark reads its rows, e.g. images=DIR. May be repeated."
    ),
]
Shots = Annotated[int | None, typer.Option(min=0, help="Demonstrations in front; by default all the domain has.")]
AnswerBy = Annotated[
    str,
    typer.Option(
        "--answer",
        help="The answer is the last value ('last') or what the QA tool concludes ('qa', as LUMOS does it). "
        "By default 'qa' where the domain has such a tool.",
    ),
]
AtLimit = Annotated[
    str,
    typer.Option(
        "--at-limit",
        help="An answer at the limit of subgoals is 'wrong', or the agent is made to 'conclude' and is judged by that. "
        "By default as LUMOS has it: 'conclude' in maths, else 'wrong'.",
    ),
]
Live = Annotated[bool, typer.Option("--live", help="Let actions call tools outside, such as Wikipedia.")]
Replay = Annotated[str, typer.Option(metavar="JOB", help="Answer calls of tools outside as that job recorded them.")]
Draw = Annotated[int, typer.Option(min=0, max=MOST, help="Tasks drawn into each sample set; 0: all tasks, no sets.")]
Sets = Annotated[int, typer.Option(min=0, max=100, help="Sample sets, 3 if not said; their tasks may overlap.")]
Samples = Annotated[int, typer.Option(min=1, max=1000, help="Tries at each task.")]
Seed = Annotated[int, typer.Option(min=0, max=MOST, help="Of all sampling.")]
Temperature = Annotated[float, typer.Option(min=0.0, help="0: greedy.")]
TopP = Annotated[float, typer.Option(min=0.0, max=1.0)]
MaxTokens = Annotated[int, typer.Option(min=1, max=MOST, help="Tokens of one reply.")]
MaxSubgoals = Annotated[
    int,
    typer.Option(
        min=0, max=1000, help="After which iterative ends with 'limit'; 0: the domain's own, 8 (web 20, shop 6)."
    ),
]
Framing = Annotated[str, typer.Option(help="How turns are written: train, or eval as in the original's evaluation.")]
