"""Determine each role's sampling from its address, its formulation, and a person's choices for one role or all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lumos_queue.endpoints.base import LINE_BREAK, Sampling
from lumos_queue.endpoints.registry import default_stop, takes_fields
from lumos_queue.endpoints.roles import TOOL_ROLES, choose_sampling
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Role
from lumos_queue.submission.agent_settings import read_samplings

COMMON = ("temperature", "top_p", "max_tokens")  #: options of all models that a formulation asks
#: From this version of the formulations on, stop strings depend on addresses.
_BY_ADDRESS = 3
_NO_FIELDS: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class ChosenSampling:
    """A person's choices that change the common sampling of an agent."""

    #: Values of COMMON that were chosen; they replace those of a formulation.
    overrides: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stop: tuple[str, ...] | None = None  #: for all models that the formulation asks; None: not chosen
    #: Fields of requests, by role; '': of all models that the formulation asks.
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    samplings: Mapping[str, str] = field(default_factory=dict[str, str])  #: ROLE.NAME to value
    judge: Sampling | None = None  #: of the role `judge`, where nothing else is chosen; None: as TOOL_ROLES has it


def sample_roles(
    agent: Agent, formulation: str, choices: ChosenSampling | None = None, version: int = VERSION
) -> Agent:
    """Return the agent with the sampling of each role; `agent.sampling` is the common sampling of its roles.

    Choices for all roles override the formulation's sampling of a role, and `--sampling` overrides both. The roles of
    models that actions call have the sampling in TOOL_ROLES, unless a choice names the role. Raises SpecError for
    an unknown role and for a value that cannot be read.
    """
    choices = choices or ChosenSampling()
    own_samplings = FORMULATIONS.load(formulation).samplings
    values = {**choices.overrides} if choices.stop is None else {**choices.overrides, "stop": choices.stop}
    samplings = {
        role: replace(sampling, **values, request={**sampling.request, **_fields_of(role, choices)})
        for role, sampling in own_samplings.items()
    }
    common_samplings = {
        role: replace(
            agent.sampling,
            stop=stop_of(formulation, url, version) if choices.stop is None else choices.stop,
            request=_fields_of(role, choices),
        )
        for role, url in agent.roles.items()
        if role not in own_samplings and role not in TOOL_ROLES
    }
    common = agent.sampling
    if common_samplings:
        first, *rest = common_samplings.values()
        if all(sampling == first for sampling in rest):
            common = first
        else:
            samplings |= common_samplings
    tools = TOOL_ROLES if choices.judge is None else {**TOOL_ROLES, Role.JUDGE: choices.judge}
    for role in agent.roles:
        if (
            role in tools
            and role not in own_samplings
            and (role in choices.fields or tools[role] is not TOOL_ROLES[role])
        ):
            samplings[role] = replace(tools[role], request=choices.fields.get(role, _NO_FIELDS))
    samplings = read_samplings(samplings, tuple(agent.roles), common, choices.samplings)
    return replace(agent, sampling=common, samplings=samplings)


def check_fields(roles: Mapping[str, str], formulation: str, choices: ChosenSampling) -> None:
    """Raises SpecError for `--request` fields of an unknown role, or of a role whose endpoint takes no fields.

    `roles` maps each role to its address.
    """
    if unknown_roles := [role for role in choices.fields if role and role not in roles]:
        raise unknown("role that --request can name here", unknown_roles[0][:80], tuple(roles))
    own_samplings = FORMULATIONS.load(formulation).samplings
    for role, url in roles.items():
        is_tool = role in TOOL_ROLES and role not in own_samplings
        fields = choices.fields.get(role, _NO_FIELDS) if is_tool else _fields_of(role, choices)
        if fields and not takes_fields(url):
            raise SpecError(
                f"--request {min(fields)[:80]}: the {role} at {url} takes no fields of requests. Leave it out, or name "
                "a role whose server takes them: --request ROLE.NAME=JSON."
            )


def stop_of(formulation: str, url: str, version: int = VERSION) -> tuple[str, ...]:
    """Return the default stop strings of a role at the address `url`.

    Models that were trained for the formulations of this project reply in one line. Replies for a plug-in's formulation
    have no stop strings, because their form is unknown.
    """
    if version < _BY_ADDRESS:
        return LINE_BREAK
    return default_stop(url) if FORMULATIONS.is_built_in(formulation) else ()


def find_stored_stop(agent: Agent, formulation: str, version: int) -> tuple[str, ...] | None:
    """Return the stop strings that a person chose for a stored agent; None if all roles have their default."""
    own_samplings = FORMULATIONS.load(formulation).samplings
    for role, url in agent.roles.items():
        if role in TOOL_ROLES and role not in own_samplings:
            continue
        default = own_samplings[role].stop if role in own_samplings else stop_of(formulation, url, version)
        if (stop := find_sampling(agent, role).stop) != default:
            return stop
    return None


def find_sampling(agent: Agent, role: str) -> Sampling:
    """Return the sampling of a role: its own, or else the agent's common sampling."""
    return choose_sampling(role, agent.samplings, agent.sampling)


def _fields_of(role: str, choices: ChosenSampling) -> dict[str, Any]:
    return {**choices.fields.get("", _NO_FIELDS), **choices.fields.get(role, _NO_FIELDS)}
