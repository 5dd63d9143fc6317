"""`lumos score JOB --judge URL`: a separate job in which a judge grades the answers of stored episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lumos_queue.cli import output

if TYPE_CHECKING:
    from db.tags import NameAndTags
    from lumos_queue.jobs.scheduling import Scheduling
    from lumos_queue.submission.judge_options import JudgeOptions


def judge_answers(
    job: str,
    options: JudgeOptions,
    seed: int,
    samplings: Sequence[str],
    name_and_tags: NameAndTags,
    scheduling: Scheduling,
    again: bool,
    follow: bool,
) -> None:
    """Submit an evaluation in which the judge grades the answers of `job`, and print its report or its id.

    Raises SpecError for options that cannot be used, and for a job whose answers cannot be judged.
    """
    from db.jobs import get_job
    from lumos_queue.cli.submit import submit_and_finish
    from lumos_queue.endpoints.base import Sampling
    from lumos_queue.formulations.defaults import ANSWER_GRADER
    from lumos_queue.jobs.evaluate import Evaluate
    from lumos_queue.jobs.infer import Infer
    from lumos_queue.rollouts.graded_rows import SCORER, build_graded_rows
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.agents import make_agent, parse_pairs
    from lumos_queue.submission.database import database
    from lumos_queue.submission.judge_options import check_votes, judge_sampling
    from lumos_queue.submission.role_samplings import ChosenSampling, sample_roles

    settings, judge = read_settings(), options.define(SCORER)
    assert judge is not None  # SCORER always has a judge
    roles = parse_pairs("--role", options.roles)
    sampling = ChosenSampling(samplings=parse_pairs("--sampling", samplings), judge=judge_sampling(judge))
    agent = make_agent(roles, "complex_qa", Sampling(), 0, "train", settings, output.say)
    agent = sample_roles(agent, ANSWER_GRADER, sampling)
    check_votes(judge, agent)
    with database(settings) as job_database:
        with job_database.engine.connect() as connection:
            row = get_job(connection, job)
        rows, definition = build_graded_rows(job_database, row, judge)
    infer = Infer(definition.name, rows.digest, rows.split, ANSWER_GRADER, agent, seed=seed, definition=definition)
    submit_and_finish(
        settings, Evaluate(infer), rows, name_and_tags=name_and_tags, scheduling=scheduling, again=again, follow=follow
    )
