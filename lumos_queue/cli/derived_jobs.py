"""Submit jobs on datasets that are derived from stored episodes, as a command's options request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from db.queries.trajectories import stream_episodes
from lumos_queue.cli import output
from lumos_queue.cli.exit_codes import Exit
from lumos_queue.cli.run import check_completeness, submit_and_run
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError, unknown
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.models.starter import AGENTS, STARTER, remark_on_starter, starter_url
from lumos_queue.prompts.dialogue import get_framing
from lumos_queue.rollouts.derivation import DerivedDatasets, Make, derive
from lumos_queue.submission.agents import answer_by, check_at_limit, make_agent, other_roles, parse_pairs
from lumos_queue.submission.filters import read_where
from lumos_queue.submission.requests.checks import check_request
from lumos_queue.submission.requests.continuation import ContinuationRequest
from lumos_queue.submission.role_samplings import sample_roles
from lumos_queue.submission.submit_options import SubmitOptions

if TYPE_CHECKING:
    from db.engine.connection import Database
    from lumos_queue.deployment.deployment import Deployment


def choose_episodes(database: Database, request: ContinuationRequest, make: Make) -> DerivedDatasets:
    """Derive datasets from the episodes that the request chooses. Raises SpecError for wrong options."""
    check_request(request)
    if not request.where.strip():
        raise SpecError("No episodes are chosen: give --where, e.g. --where 'job=k3f9a2cd score<1'.")
    get_framing(request.framing)
    if request.samples > 1 and request.temperature == 0:
        raise SpecError("Greedy samples are all equal: give --temperature above 0, or --samples 1.")
    derivation = derive(stream_episodes(database, read_where(database, request.where)), make)
    check_at_limit(request.at_limit, derivation.formulation, derivation.benchmark)
    return derivation


def submit_derived(
    deployment: Deployment,
    request: ContinuationRequest,
    derivation: DerivedDatasets,
    options: SubmitOptions,
    follow: bool,
) -> tuple[dict[str, Any], dict[str, str], int]:
    """Submit an evaluation of each derived dataset.

    Return the numbers of selected and excluded episodes, the jobs' ids by dataset, and the exit code. Raises SpecError
    for wrong options, before anything is stored.
    """
    sampling = Sampling(request.temperature, request.top_p, request.max_tokens)
    roles = _roles(request, derivation.formulation) | other_roles(request.roles, derivation.benchmark.domain, {})
    tools = DOMAINS.load(derivation.benchmark.domain).prepare_tools(parse_pairs("--tool", request.tools))
    domain = derivation.benchmark.domain
    roles |= DOMAINS.load(domain).model_addresses(tools)
    agent = make_agent(roles, domain, sampling, request.max_subgoals, request.framing, deployment.settings, output.say)
    agent = replace(agent, tools=tools, answer_by=answer_by(derivation.benchmark), at_limit=request.at_limit)
    agent = sample_roles(agent, derivation.formulation)
    selection = {"episodes": derivation.episodes, "left_out": dict(derivation.left_out)}
    jobs: dict[str, str] = {}
    code = 0
    for name, rows in derivation.rows.items():
        infer = Infer(
            rows.benchmark.name,
            rows.digest,
            rows.split,
            derivation.formulation,
            agent,
            0,
            request.samples,
            request.seed,
            definition=derivation.definition,
        )
        jobs[name], exit_code = submit_and_run(deployment, Evaluate(infer), rows, options, follow=follow)
        if exit_code == Exit.INCOMPLETE and follow:
            check_completeness(deployment, jobs[name])
        code = code or exit_code
        output.say(f"{f'gold {name}: ' if name else ''}job {jobs[name]}, {len(rows.tasks)} tasks")
    return selection, jobs, code


def _roles(request: ContinuationRequest, formulation: str) -> dict[str, str]:
    if request.agent:
        if any(request.models.values()):
            raise SpecError("Give either --agent or the endpoint of each role, not both.")
        if request.agent not in AGENTS:
            raise unknown("agent", request.agent, AGENTS)
        if request.agent == STARTER and (note := remark_on_starter(formulation)):
            output.say(note)
        return dict.fromkeys(request.models, starter_url(formulation, request.agent))
    if missing_roles := [role for role, url in request.models.items() if not url]:
        raise SpecError(
            f"No endpoint for the role {missing_roles[0]}: give --{missing_roles[0]} URL, or --agent starter."
        )
    return request.models
