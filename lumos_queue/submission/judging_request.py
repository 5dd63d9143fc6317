"""Make the agents of requests in which a model judges stored episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lumos_queue.benchmarks.from_file.definition import JudgeDefinition
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.defaults import ANSWER_GRADER
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import get_framing
from lumos_queue.records import Role
from lumos_queue.settings import Settings
from lumos_queue.submission.agents import make_agent, parse_pairs
from lumos_queue.submission.judge_options import JudgeOptions, check_votes, judge_sampling, read_rubric
from lumos_queue.submission.requests.checks import check_request
from lumos_queue.submission.requests.judging import GradingRequest, JudgingRequest
from lumos_queue.submission.role_samplings import ChosenSampling, sample_roles


def make_voting_agent(request: JudgingRequest, settings: Settings, remark: Callable[[str], None]) -> Agent:
    """Return the agent of `lumos judge`, whose judge votes on runs.

    Raises SpecError for a missing endpoint, another role, and votes that cannot differ.
    """
    check_request(request)
    roles = parse_pairs("--role", request.roles)
    for name in roles:
        if name != Role.JUDGE:
            raise unknown("role that --role can set here", name, (Role.JUDGE,))
    if not roles:
        raise SpecError(f"No endpoint for the role {Role.JUDGE}: give --role {Role.JUDGE}=URL.")
    get_framing(request.framing)
    if request.votes > 1 and request.temperature == 0:
        raise SpecError("Greedy votes are all equal: give --temperature above 0, or --votes 1.")
    sampling = Sampling(request.temperature, request.top_p, request.max_tokens, stop=())
    agent = make_agent(roles, "tools", sampling, 0, request.framing, settings, remark)
    return replace(agent, samplings={Role.JUDGE: agent.sampling}, settings={"votes": str(request.votes)})


def check_grading(request: GradingRequest) -> JudgeOptions:
    """Return the description of the judge, empty for a scorer that is no model.

    Raises SpecError for values out of their range, a template that cannot be read, and options without an effect.
    """
    check_request(request)
    options = JudgeOptions(request.judge, read_rubric(request.rubric), request.grades, request.votes)
    if bool(request.scorer) == bool(request.judge):
        raise SpecError("Give either --scorer NAME, or --judge URL for a model that grades the answers.")
    if options and not request.judge:
        raise SpecError(f"--{options.option_names[0]} is for --judge URL: leave it out.")
    return options


def make_grading_agent(
    request: GradingRequest,
    options: JudgeOptions,
    judge: JudgeDefinition,
    settings: Settings,
    remark: Callable[[str], None],
) -> Agent:
    """Return the agent of `lumos score --judge`. Raises SpecError for options that cannot be used."""
    roles = parse_pairs("--role", options.roles)
    choices = ChosenSampling(samplings=parse_pairs("--sampling", request.samplings), judge=judge_sampling(judge))
    agent = sample_roles(
        make_agent(roles, "complex_qa", Sampling(), 0, "train", settings, remark), ANSWER_GRADER, choices
    )
    check_votes(judge, agent)
    return agent
