"""What two evaluations of one agent have in common although their benchmarks are of different domains."""

from __future__ import annotations

import json
from collections.abc import Mapping

from db.queue.stored_jobs import StoredJob
from lumos_queue.domains.base import Domain
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.scoring.limit import at_limit_of

#: Parts of a stored agent that follow from the benchmark, or that `identify_agent` compares in another way.
_LEFT_OUT = frozenset(("domain", "roles", "tools", "shots", "max_subgoals", "at_limit", "answer_by", "reader"))
_BY_ROLE = ("samplings", "weights")  #: parts that have an entry for each role


def identify_agent(job: StoredJob) -> str:
    """Return the chosen settings of a job's agent as text: without the models, and without defaults of its domain.

    Two agents with equal text may differ in the answer reader, and in how their answer is concluded.
    """
    agent = job.spec.get("infer", job.spec).get("agent")
    if not isinstance(agent, Mapping):
        return ""
    defaults = _list_defaults(job, DOMAINS.find(agent.get("domain", "")))
    settings: dict[str, object] = {name: value for name, value in agent.items() if name not in _LEFT_OUT}
    chosen = {"shots": agent.get("shots"), "max_subgoals": agent.get("max_subgoals"), "at_limit": at_limit_of(job.spec)}
    chosen |= {f"tool {name}": value for name, value in agent.get("tools", {}).items()}
    settings |= {name: value for name, value in chosen.items() if value != defaults.get(name)}
    for part in _BY_ROLE:
        settings[part] = {role: value for role, value in agent.get(part, {}).items() if role not in TOOL_ROLES}
    return json.dumps(settings, sort_keys=True)


def _list_defaults(job: StoredJob, domain: Domain | None) -> dict[str, int | str]:
    """Return the values that a domain gives to settings that were not chosen; {} for a domain that is not installed."""
    if domain is None:
        return {}
    formulation = FORMULATIONS.find(job.formulation)
    defaults: dict[str, int | str] = {"max_subgoals": domain.max_subgoals, "at_limit": domain.at_limit}
    if formulation is not None:
        defaults["shots"] = formulation.choose_shots(domain.default_shots)
    return defaults | {f"tool {name}": value for name, value in domain.default_tools.items()}
