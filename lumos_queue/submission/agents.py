"""Make an agent from options: the endpoint of each role, and its settings. Unknown names are rejected here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import check_url, open_endpoint
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.base import Formulation
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.models.starter import AGENTS, starter_url
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import get_framing
from lumos_queue.records import Role
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.answer_readers import AnswerReader
from lumos_queue.scoring.limit import AtLimit
from lumos_queue.settings import Settings
from lumos_queue.submission.readiness import identify_when_ready
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.runs import is_run

ROLE_OPTIONS = (Role.PLANNER, Role.GROUNDER, Role.SOLVER)  #: roles with their own option; others are given with --role


def parse_pairs(option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Return the pairs of an option NAME=VALUE as a mapping. Raises SpecError for a malformed or repeated pair."""
    values: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise SpecError(f"{option} {pair[:80]} cannot be read: expected {option} NAME=VALUE.")
        if name in values:
            raise SpecError(f"{option} {name}=… was given twice.")
        values[name] = value
    return values


def answer_by(benchmark: Benchmark, choice: str = "") -> str:
    """Return the value of Agent.answer_by: how the agent gets its answer. Raises SpecError for an unknown choice."""
    choices = ("last", "qa")
    if choice and choice not in choices:
        raise SpecError(f"--answer-by must be one of {', '.join(choices)}, not '{choice[:40]}'.")
    if not DOMAINS.load(benchmark.domain).concludes_by_qa or choice == "last":
        return "last"
    return "yes/no" if benchmark.answers == AnswerKind.YES_NO else "qa"


def check_at_limit(choice: str, formulation: str, benchmark: Benchmark) -> None:
    """Raises SpecError if `choice` is an unknown value of Agent.at_limit or has no effect; '' means no choice."""
    if not choice:
        return
    if choice not in tuple(AtLimit):
        raise SpecError(f"--at-limit must be one of {', '.join(AtLimit)}, not '{choice[:40]}'.")
    if not FORMULATIONS.load(formulation).limited:
        raise SpecError(f"The formulation '{formulation}' has no limit of subgoals: leave out --at-limit.")
    if not benchmark.by_answer:
        raise SpecError(f"The benchmark '{benchmark.name}' is judged by the actions done: leave out --at-limit.")


def check_reader(name: str, formulation: Formulation) -> None:
    """Raises SpecError if `name` is an unknown reader of answers or has no effect; '' means no choice."""
    if not name:
        return
    if name not in tuple(AnswerReader):
        raise SpecError(f"--reader must be one of {', '.join(AnswerReader)}, not '{name[:40]}'.")
    if formulation.phrase is None:
        raise SpecError(
            f"The formulation '{formulation.name}' reads no answer from a single reply (cot and direct do): leave "
            "out --reader."
        )


def make_agent(
    roles: Mapping[str, str],
    domain: str,
    sampling: Sampling,
    max_subgoals: int,
    framing: str,
    settings: Settings,
    remark: Callable[[str], None],
) -> Agent:
    """Return the agent with the endpoint of each role. Without a broker, request each endpoint's identity here.

    In a deployment the workers request it. Weights in local files are identified by content in both cases. `remark`
    gets one line about each server that is not ready yet.
    """
    is_deployed = bool(settings.broker_url)
    addresses = {role: resolve_address(url, is_deployed) for role, url in roles.items()}
    local = {url for url in addresses.values() if not is_deployed or _is_local_model(url)}
    identities = asyncio.run(identify(local, settings, remark))
    weights = {
        role: identities[url]["sha256"] for role, url in addresses.items() if "sha256" in identities.get(url, {})
    }
    sampling = replace(sampling, bos=get_framing(framing).bos)
    return Agent(
        addresses, domain, framing, sampling, max_subgoals or DOMAINS.load(domain).max_subgoals, weights=weights
    )


def resolve_address(url: str, is_deployed: bool) -> str:
    """Return the address with an absolute path, because workers have other working folders. Raises SpecError."""
    scheme, _, path = url.partition(":")
    if scheme not in ("local", "scripted") or not path:
        check_url(url)
        return url
    url = f"{scheme}:{os.path.abspath(os.path.expanduser(path))}"
    if not is_deployed:  # in a deployment the workers must have the file
        check_url(url)
    return url


def _is_local_model(url: str) -> bool:
    if not url.startswith("local:"):
        return False
    try:
        check_url(url)
    except SpecError:
        return False
    return True


def other_roles(
    pairs: Sequence[str], domain: str, tools: Mapping[str, str], formulation_roles: Sequence[str] = ()
) -> dict[str, str]:
    """Return the addresses of `--role NAME=URL`, by role.

    Possible roles are `formulation_roles`, the judge, and the models that the actions of `domain` call with the options
    `tools` ('': no domain). Raises SpecError for a missing role of the actions, and for a role that is not possible.
    """
    tool_roles, addresses = DOMAINS.load(domain).roles(tools) if domain else (), parse_pairs("--role", pairs)
    possible = (*(name for name in formulation_roles if name not in ROLE_OPTIONS), *tool_roles, Role.JUDGE)
    for name in addresses:
        if name not in possible:
            raise unknown("role that --role can set here", name, possible)
    if missing_names := [name for name in tool_roles if name not in addresses]:
        options = " ".join(f"--role {name}=URL" for name in missing_names)
        raise SpecError(
            f"No endpoint for the role {' or '.join(missing_names)}, which the actions of '{domain}' ask: "
            f"give {options}."
        )
    return addresses


def resolve_roles(request: InferenceRequest, domain: str, tools: Mapping[str, str], *, is_own: bool) -> dict[str, str]:
    """Return the address of each role: the formulation's models, the models that its actions call, and the judge.

    `is_own`: whether the rows are a person's own. Raises SpecError for a role without an endpoint, and for an endpoint
    whose role nothing uses.
    """
    formulation = FORMULATIONS.load(request.formulation)
    formulation_roles = formulation.roles
    addresses = {name: url for name in ROLE_OPTIONS if (url := getattr(request, name))}
    if is_own and not (addresses or request.agent or request.roles):
        raise SpecError(
            "No model is named: give --solver URL for a model that answers alone, or --planner and --grounder."
        )
    other_addresses = other_roles(request.roles, domain, tools, formulation_roles)
    other_addresses |= DOMAINS.load(domain).model_addresses(tools) if domain else {}
    if request.agent:
        if addresses:
            raise SpecError("Give either --agent or an endpoint for each role, not both.")
        if request.agent not in AGENTS:
            raise unknown("agent", request.agent, AGENTS)
        return dict.fromkeys(formulation_roles, starter_url(request.formulation, request.agent)) | other_addresses
    if Role.GROUNDER in formulation_roles and is_run(
        addresses.get(Role.PLANNER, "")
    ):  # one model for both, as most runs write
        addresses.setdefault(Role.GROUNDER, addresses[Role.PLANNER])
    addresses |= other_addresses
    requirement = " and ".join(
        f"--{name} URL" if name in ROLE_OPTIONS else f"--role {name}=URL" for name in formulation_roles
    )
    requirement += ", or --agent starter" if formulation.starter else ""
    if missing_names := [name for name in formulation_roles if name not in addresses]:
        roles = f"role{'s' * (len(missing_names) > 1)} {' and '.join(missing_names)}"
        raise SpecError(f"No endpoint for the {roles}: the formulation '{request.formulation}' needs {requirement}.")
    if unused_names := [name for name in addresses if name in ROLE_OPTIONS and name not in formulation_roles]:
        raise SpecError(
            f"The formulation '{request.formulation}' has no role {unused_names[0]}: it needs {requirement}."
        )
    return addresses


def setting_roles(formulation: Formulation, settings: Mapping[str, str]) -> Mapping[str, str]:
    """Return the address of each model that settings of the formulation name, by role."""
    return formulation.setting_roles(settings) if formulation.setting_roles else {}


async def identify(
    urls: set[str], settings: Settings, remark: Callable[[str], None] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the identity of each endpoint, by URL. Raises SpecError or InfrastructureError if one reports none.

    With `remark`, wait for a server that is not ready; `remark` gets one line about the wait.
    """
    identities: dict[str, dict[str, Any]] = {}
    for url in sorted(urls):
        endpoint = open_endpoint(url, settings)
        try:
            identities[url] = await (identify_when_ready(endpoint, remark) if remark else endpoint.identity())
        finally:
            await endpoint.close()
    return identities
