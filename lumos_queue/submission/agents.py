"""Who plays which role, and how: from options to an agent. Every unknown name fails here, listing the choices."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import check_url, open_endpoint
from lumos_queue.endpoints.roles import JUDGE
from lumos_queue.endpoints.starter import starter_url
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import get_framing
from lumos_queue.scoring.limit import CHOICES as AT_LIMIT
from lumos_queue.settings import Settings

if TYPE_CHECKING:
    from lumos_queue.submission.job_request import Options

AGENTS = ("starter",)
ROLE_OPTIONS = ("planner", "grounder", "solver")  #: roles with an option of their own; others are given with --role


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """What a repeatable option NAME=VALUE was given. Raises SpecError for one that is none, or that stands twice."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not (name and equals and value):
            raise SpecError(f"{option} {one[:80]} cannot be read: expected {option} NAME=VALUE.")
        if name in found:
            raise SpecError(f"{option} {name}=… was given twice.")
        found[name] = value
    return found


def answer_by(benchmark: Benchmark, asked: str = "") -> str:
    """How an agent comes to its answer (Agent.answer_by). Raises SpecError for another wish than last or qa."""
    choices = ("last", "qa")
    if asked and asked not in choices:
        raise unknown("way to the answer", asked, choices)
    if not DOMAINS.load(benchmark.domain).concludes_by_qa or asked == "last":
        return "last"
    return "yes/no" if benchmark.yes_no else "qa"


def check_at_limit(asked: str, formulation: str, benchmark: Benchmark) -> None:
    """Raises SpecError for a wish (Agent.at_limit; '': none) that is not known, or would do nothing here."""
    if not asked:
        return
    if asked not in AT_LIMIT:
        raise unknown("worth of an answer at the limit", asked, AT_LIMIT)
    if not FORMULATIONS.load(formulation).limited:
        raise SpecError(f"The formulation '{formulation}' has no limit of subgoals: leave out --at-limit.")
    if not benchmark.by_answer:
        raise SpecError(f"The benchmark '{benchmark.name}' is judged by what is done: leave out --at-limit.")


def make_agent(
    roles: Mapping[str, str], domain: str, sampling: Sampling, max_subgoals: int, framing: str, settings: Settings
) -> Agent:
    """The agent whose roles are played at these addresses. Embedded, its endpoints are asked who they are.

    In a deployment, workers ask the servers; weights that lie here are named by content all the same.
    """
    deployed = bool(settings.broker_url)
    checked = {role: address(url, deployed) for role, url in roles.items()}
    here = {url for url in checked.values() if not deployed or _is_model_here(url)}
    identities = asyncio.run(identify(here, settings))
    weights = {role: identities[url]["sha256"] for role, url in checked.items() if "sha256" in identities.get(url, {})}
    sampling = replace(sampling, bos=get_framing(framing).bos)
    return Agent(checked, domain, framing, sampling, max_subgoals or DOMAINS.load(domain).max_subgoals, weights=weights)


def address(url: str, deployed: bool) -> str:
    """The address, checked, a path in it made absolute: workers have working folders of their own."""
    scheme, _, path = url.partition(":")
    if scheme not in ("local", "scripted") or not path:
        check_url(url)
        return url
    url = f"{scheme}:{os.path.abspath(os.path.expanduser(path))}"
    if not deployed:  # in a deployment it is the workers that must have it
        check_url(url)
    return url


def _is_model_here(url: str) -> bool:
    if not url.startswith("local:"):
        return False
    try:
        check_url(url)
    except SpecError:
        return False
    return True


def other_roles(given: Sequence[str], domain: str, wanted: Sequence[str] = ()) -> dict[str, str]:
    """What `--role NAME=URL` says: who is asked by the actions of a domain ('': none), judges, or is `wanted` besides.

    Raises SpecError for a role that is missing, or that nobody asks.
    """
    asked, found = DOMAINS.load(domain).roles if domain else (), pairs("--role", given)
    possible = (*(name for name in wanted if name not in ROLE_OPTIONS), *asked, JUDGE)
    for name in found:
        if name not in possible:
            raise unknown("role to be given with --role here", name, possible)
    if missing := [name for name in asked if name not in found]:
        needed = " ".join(f"--role {name}=URL" for name in missing)
        raise SpecError(f"Who answers what the actions of domain '{domain}' ask? Give {needed}.")
    return found


def played(options: Options, domain: str) -> dict[str, str]:
    """Role to address: of the formulation's models, of those that its actions ask, and of a judge if there is one.

    Raises SpecError for a role that nobody plays, or that nobody asks.
    """
    wanted = FORMULATIONS.load(options.formulation).roles
    given = {name: url for name in ROLE_OPTIONS if (url := getattr(options, name))}
    others = other_roles(options.roles, domain, wanted)
    if options.agent:
        if given:
            raise SpecError("Give either --agent or an endpoint for each role, not both.")
        if options.agent not in AGENTS:
            raise unknown("agent", options.agent, AGENTS)
        return dict.fromkeys(wanted, starter_url(options.formulation)) | others
    given |= others
    if {name for name in given if name in wanted or name in ROLE_OPTIONS} != set(wanted):
        needed = " and ".join(f"--{name} URL" if name in ROLE_OPTIONS else f"--role {name}=URL" for name in wanted)
        raise SpecError(f"Who plays {' and '.join(wanted)}? The formulation '{options.formulation}' needs {needed}"
                        f"{', or --agent starter' if 'planner' in wanted else ''}.")  # fmt: skip
    return given


async def identify(urls: set[str], settings: Settings) -> dict[str, dict[str, Any]]:
    """What each endpoint says it is. Raises SpecError or InfrastructureError for the first that does not say it."""
    found = {}
    for url in sorted(urls):
        endpoint = open_endpoint(url, settings)
        try:
            found[url] = await endpoint.identity()
        finally:
            await endpoint.close()
    return found
