"""Check, before a job is stored, that an agent's constraints, candidates, beams and samplings go together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.registry import gives_candidates, takes_constraints
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import Formulation
from lumos_queue.prompts.agent import Agent

_OF_CONSTRAINTS = {"goal": "aware", "search": "together"}  #: settings that need constraints, to their defaults


def check_search(formulation: Formulation, agent: Agent, remark: Callable[[str], None]) -> None:
    """Raises SpecError for options that contradict each other. `remark` gets a warning of an unenforced constraint."""
    settings = formulation.read_settings(agent)
    n = settings.get("candidates", 1)
    searched_roles = [role for role in formulation.roles if role in agent.roles] if "candidates" in settings else []
    for role, url in agent.roles.items():
        sampling = agent.samplings.get(role, agent.sampling)
        _check_role(role, url, sampling, n if role in searched_roles else 1)
    is_constrained = settings.get("decoding") == "constrained"
    _check_settings(settings, is_constrained)
    for role in searched_roles if is_constrained else ():
        if note := _describe_judging(agent.roles[role]):
            remark(f"The {role} at {agent.roles[role]} {note}")


def _check_role(role: str, url: str, sampling: Sampling, n: int) -> None:
    beams = sampling.beams
    if (n > 1 or beams > 1) and not gives_candidates(url):
        request = f"{n} candidates" if n > 1 else f"--sampling {role}.beams={beams}"
        raise SpecError(
            f"The {role} at {url} gives no candidates with log-probabilities ({request}): use local:DIR, or "
            "leave out candidates and beams."
        )
    if beams and n > beams:
        raise SpecError(
            f"--setting candidates={n} is more than --sampling {role}.beams={beams}: give at most as many candidates "
            "as beams."
        )
    if (n > 1 or beams > 1) and sampling.temperature > 0:
        request = f"--setting candidates={n}" if n > 1 else f"--sampling {role}.beams={beams}"
        raise SpecError(f"{request} needs --sampling {role}.temperature=0: a search samples no tokens.")
    if sampling.epsilon > 0 and n == 1:
        raise SpecError(
            f"--sampling {role}.epsilon={sampling.epsilon:g} draws from several candidates, but there is one: give "
            "--setting candidates=N in a formulation that has it, or leave epsilon out."
        )


def _check_settings(settings: Mapping[str, Any], is_constrained: bool) -> None:
    for name, default in _OF_CONSTRAINTS.items():
        if not is_constrained and settings.get(name, default) != default:
            raise SpecError(
                f"--setting {name}={settings[name]} has no effect without --setting decoding=constrained: add that, or "
                "leave it out."
            )


def _describe_judging(url: str) -> str:
    """Return a warning about a constraint at this endpoint; '' if the endpoint enforces it."""
    if not takes_constraints(url):
        return "cannot enforce a constraint: its replies are judged afterwards."
    if url.partition(":")[0] in ("openai", "openais"):
        return "enforces the constraint if it is vLLM; replies of other servers are judged afterwards."
    return ""
