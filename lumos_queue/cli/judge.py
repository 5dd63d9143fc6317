"""The command `lumos judge`: a model votes on the stored runs of tool agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.jobs.scheduling import Scheduling

if TYPE_CHECKING:
    from lumos_queue.prompts.agent import Agent
    from lumos_queue.rollouts.judged_rows import JudgedRows
    from lumos_queue.settings import Settings

Against = Annotated[
    str, typer.Option(metavar="JOB", help="Also compare each run with that job's run of the same task.")
]
Votes = Annotated[
    int,
    typer.Option(
        min=1,
        max=99,
        help="Votes on each run (ToolEval: 4). A tie counts 1/2 by rule=ours and passes by rule=tooleval.",
    ),
]
JudgeRole = Annotated[list[str], typer.Option("--role", metavar="NAME=URL", help="The judge's endpoint: judge=URL.")]


def judge(
    job: opt.JobId,
    against: Against = "",
    votes: Votes = 3,
    role: JudgeRole = [],
    seed: opt.Seed = 0,
    temperature: opt.Temperature = 0.2,
    top_p: opt.TopP = 1.0,
    max_tokens: opt.MaxTokens = 512,
    framing: opt.Framing = "train",
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    concurrency: opt.Concurrency = 0,
    json: opt.Json = False,
) -> None:
    """Have a model judge the runs of tool agents.

    The model judges as in ToolEval. The command submits an evaluation of the job's runs. Its report has the pass rate
    (strict, and by ToolEval's table), the solvable pass rate, and with --against the win rate. Rates by the table and
    win rates are counted by two rules from the same votes: tooleval, as ToolEval's code counts, and ours. A run without
    a result counts as failed.
    """
    from lumos_queue.cli.submit import submit_and_finish
    from lumos_queue.formulations.defaults import RUN_JUDGE
    from lumos_queue.jobs.evaluate import Evaluate
    from lumos_queue.jobs.infer import Infer
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.tags import read_name_and_tags

    settings, name_and_tags = read_settings(), read_name_and_tags(name, tag)
    agent = _make_agent(settings, role, votes, temperature, top_p, max_tokens, framing)
    runs = _read(settings, job, against)
    _print_warnings(runs, votes)
    rows = runs.rows
    infer = Infer(rows.benchmark.name, rows.digest, rows.split, RUN_JUDGE, agent, seed=seed)
    submit_and_finish(
        settings,
        Evaluate(infer),
        rows,
        name_and_tags=name_and_tags,
        scheduling=Scheduling(priority, concurrency),
        again=again,
        follow=follow,
    )


def _make_agent(
    settings: Settings, role: list[str], votes: int, temperature: float, top_p: float, max_tokens: int, framing: str
) -> Agent:
    """Return the judge's agent. Raises SpecError for a missing endpoint, another role, and votes that cannot differ."""
    import math
    from dataclasses import replace

    from lumos_queue.endpoints.base import Sampling
    from lumos_queue.endpoints.roles import JUDGE
    from lumos_queue.errors import SpecError, unknown
    from lumos_queue.prompts.dialogue import get_framing
    from lumos_queue.submission.agents import make_agent, parse_pairs

    roles = parse_pairs("--role", role)
    for name in roles:
        if name != JUDGE:
            raise unknown("role that --role can set here", name, (JUDGE,))
    if not roles:
        raise SpecError(f"No endpoint for the role {JUDGE}: give --role {JUDGE}=URL.")
    get_framing(framing)
    if not (math.isfinite(temperature) and math.isfinite(top_p)):
        raise SpecError("--temperature and --top-p must be finite numbers.")
    if votes > 1 and temperature == 0:
        raise SpecError("Greedy votes are all equal: give --temperature above 0, or --votes 1.")
    sampling = Sampling(temperature, top_p, max_tokens, stop=())
    agent = make_agent(roles, "tools", sampling, 0, framing, settings, output.say)
    return replace(agent, samplings={JUDGE: agent.sampling}, settings={"votes": str(votes)})


def _read(settings: Settings, job: str, against: str) -> JudgedRows:
    from db.jobs import get_job
    from lumos_queue.rollouts.judged_rows import build_judged_rows
    from lumos_queue.submission.database import database

    with database(settings) as job_database:
        with job_database.engine.connect() as connection:
            judged_job = get_job(connection, job)
            other_job = get_job(connection, against) if against else None
        return build_judged_rows(job_database, judged_job, other_job)


def _print_warnings(runs: JudgedRows, votes: int) -> None:
    """Print remarks about the runs on standard error."""
    from lumos_queue.prompts.judged_run import MISSING, UNFINISHED

    if missing_runs := runs.ended.get(MISSING, 0):
        output.say(f"{missing_runs:,} of {len(runs.rows.tasks):,} runs have no result: they count as failed")
    if unfinished_runs := runs.ended.get(UNFINISHED, 0):
        output.say(f"{unfinished_runs:,} of {len(runs.rows.tasks):,} runs ended without Finish: they count as failed")
    if votes % 2 == 0:
        output.say(
            f"of {votes} votes, an even number, half may be for each side: such a tie counts 1/2 by rule=ours "
            "and passes by rule=tooleval"
        )
