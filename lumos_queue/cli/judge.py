"""The command `lumos judge`: a model votes on the stored runs of tool agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.request_command import takes_request
from lumos_queue.cli.submit_command import takes_submit_options
from lumos_queue.submission.requests.judging import JudgingRequest
from lumos_queue.submission.submit_options import SubmitOptions

if TYPE_CHECKING:
    from db.engine.connection import Database
    from lumos_queue.rollouts.judged_rows import JudgedRows


@takes_request(JudgingRequest)
@takes_submit_options
def judge(
    request: JudgingRequest,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Have a model judge the runs of tool agents.

    The model judges as in ToolEval. The command submits an evaluation of the job's runs. Its report has the pass rate
    (strict, and by ToolEval's table), the solvable pass rate, and with --against the win rate. Rates by the table and
    win rates are counted by two rules from the same votes: tooleval, as ToolEval's code counts, and ours. A run without
    a result counts as failed.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.cli.submit import submit_and_finish
    from lumos_queue.formulations.defaults import RUN_JUDGE
    from lumos_queue.jobs.evaluate import Evaluate
    from lumos_queue.jobs.infer import Infer
    from lumos_queue.submission.judging_request import make_voting_agent

    deployment = open_deployment()
    agent = make_voting_agent(request, deployment.settings, output.say)
    runs = _read(deployment.database, request)
    _print_warnings(runs, request.votes)
    rows = runs.rows
    infer = Infer(rows.benchmark.name, rows.digest, rows.split, RUN_JUDGE, agent, seed=request.seed)
    submit_and_finish(deployment, Evaluate(infer), rows, options, follow=follow)


def _read(database: Database, request: JudgingRequest) -> JudgedRows:
    from db.queries.jobs import get_job
    from lumos_queue.rollouts.judged_rows import build_judged_rows

    with database.engine.connect() as connection:
        judged_job = get_job(connection, request.job)
        other_job = get_job(connection, request.against) if request.against else None
    return build_judged_rows(database, judged_job, other_job)


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
