"""`lumos score JOB --judge URL`: a separate job in which a judge grades the answers of stored episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumos_queue.cli import output

if TYPE_CHECKING:
    from lumos_queue.submission.judge_options import JudgeOptions
    from lumos_queue.submission.requests.judging import GradingRequest
    from lumos_queue.submission.submit_options import SubmitOptions


def judge_answers(
    request: GradingRequest,
    judge_options: JudgeOptions,
    options: SubmitOptions,
    follow: bool,
) -> None:
    """Submit an evaluation in which the judge grades the answers of a job, and print its report or its id.

    Raises SpecError for options that cannot be used, and for a job whose answers cannot be judged.
    """
    from db.queries.jobs import get_job
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.cli.submit import submit_and_finish
    from lumos_queue.formulations.defaults import ANSWER_GRADER
    from lumos_queue.jobs.evaluate import Evaluate
    from lumos_queue.jobs.infer import Infer
    from lumos_queue.rollouts.graded_rows import SCORER, build_graded_rows
    from lumos_queue.submission.judging_request import make_grading_agent

    deployment, judge = open_deployment(), judge_options.define(SCORER)
    assert judge is not None  # SCORER always has a judge
    agent = make_grading_agent(request, judge_options, judge, deployment.settings, output.say)
    with deployment.database.engine.connect() as connection:
        row = get_job(connection, request.job)
    rows, definition = build_graded_rows(deployment.database, row, judge)
    infer = Infer(
        definition.name, rows.digest, rows.split, ANSWER_GRADER, agent, seed=request.seed, definition=definition
    )
    submit_and_finish(deployment, Evaluate(infer), rows, options, follow=follow)
