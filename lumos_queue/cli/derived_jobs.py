"""From a command's options to jobs on datasets derived from stored episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from db.trajectories import stream_episodes
from lumos_queue.cli import output
from lumos_queue.cli.exit_codes import Exit
from lumos_queue.cli.run import check_completeness, submit_and_run
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError, unknown
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.models.starter import AGENTS, STARTER, remark_on_starter, starter_url
from lumos_queue.prompts.dialogue import get_framing
from lumos_queue.rollouts.derivation import Make, derive
from lumos_queue.submission.agents import answer_by, check_at_limit, make_agent, other_roles, parse_pairs
from lumos_queue.submission.database import database
from lumos_queue.submission.filters import read_where
from lumos_queue.submission.role_samplings import sample_roles

if TYPE_CHECKING:
    from db.tags import NameAndTags
    from lumos_queue.settings import Settings


@dataclass(frozen=True, slots=True)
class DerivedOptions:
    """Which episodes are continued, by which agent: the options of `lumos evaluate` that apply here."""

    where: str
    agent: str
    roles: dict[str, str]  #: role to endpoint as given, '' where none was
    samples: int
    seed: int
    temperature: float
    top_p: float
    max_tokens: int
    max_subgoals: int
    framing: str
    others: Sequence[str]  #: NAME=URL of the roles that actions ask, and of the judge
    tools: Sequence[str]  #: NAME=VALUE
    at_limit: str


def submit_derived(
    settings: Settings,
    asked: DerivedOptions,
    make: Make,
    *,
    named: NameAndTags,
    scheduling: Scheduling,
    again: bool,
    follow: bool,
) -> tuple[dict[str, Any], dict[str, str], int]:
    """Derive the datasets and submit an evaluation of each.

    Returns how many episodes were chosen and left out, the jobs' ids by dataset, and the exit code. Raises SpecError
    before anything is stored.
    """
    if not asked.where.strip():
        raise SpecError("No episodes are chosen: give --where, e.g. --where 'job=k3f9a2cd score<1'.")
    get_framing(asked.framing)
    if not (math.isfinite(asked.temperature) and math.isfinite(asked.top_p)):
        raise SpecError("--temperature and --top-p must be finite numbers.")
    if asked.samples > 1 and asked.temperature == 0:
        raise SpecError("Greedy samples are all equal: give --temperature above 0, or --samples 1.")
    with database(settings) as opened:
        derived = derive(stream_episodes(opened, read_where(opened, asked.where)), make)
    check_at_limit(asked.at_limit, derived.formulation, derived.benchmark)
    sampling = Sampling(asked.temperature, asked.top_p, asked.max_tokens)
    roles = _roles(asked, derived.formulation) | other_roles(asked.others, derived.benchmark.domain, {})
    tools = DOMAINS.load(derived.benchmark.domain).prepare_tools(parse_pairs("--tool", asked.tools))
    domain = derived.benchmark.domain
    agent = make_agent(roles, domain, sampling, asked.max_subgoals, asked.framing, settings, output.say)
    agent = replace(agent, tools=tools, answer_by=answer_by(derived.benchmark), at_limit=asked.at_limit)
    agent = sample_roles(agent, derived.formulation)
    chosen = {"episodes": derived.episodes, "left_out": dict(derived.left_out)}
    jobs: dict[str, str] = {}
    code = 0
    for name, rows in derived.rows.items():
        infer = Infer(
            rows.benchmark.name,
            rows.digest,
            rows.split,
            derived.formulation,
            agent,
            0,
            asked.samples,
            asked.seed,
            definition=derived.definition,
        )
        jobs[name], ended = submit_and_run(
            settings, Evaluate(infer), rows, named=named, scheduling=scheduling, again=again, follow=follow
        )
        if ended == Exit.INCOMPLETE and follow:
            check_completeness(settings, jobs[name])
        code = code or ended
        output.say(f"{f'gold {name}: ' if name else ''}job {jobs[name]}, {len(rows.tasks)} tasks")
    return chosen, jobs, code


def _roles(asked: DerivedOptions, formulation: str) -> dict[str, str]:
    if asked.agent:
        if any(asked.roles.values()):
            raise SpecError("Give either --agent or the endpoint of each role, not both.")
        if asked.agent not in AGENTS:
            raise unknown("agent", asked.agent, AGENTS)
        if asked.agent == STARTER and (note := remark_on_starter(formulation)):
            output.say(note)
        return dict.fromkeys(asked.roles, starter_url(formulation, asked.agent))
    if missing := [role for role, url in asked.roles.items() if not url]:
        raise SpecError(f"No endpoint for the role {missing[0]}: give --{missing[0]} URL, or --agent starter.")
    return asked.roles
