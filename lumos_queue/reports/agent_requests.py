"""The settings of a stored agent's requests as text: stop strings, system message, template, fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.commands import digest
from lumos_queue.endpoints.base import LINE_BREAK
from lumos_queue.formulations.registry import FORMULATIONS

_LONGEST = 60  #: characters of a text in a line
_SHORT = 8  #: characters of a text's digest


def describe_requests(agent: Mapping[str, Any], formulation: str) -> dict[str, str]:
    """Return the settings of a stored agent that differ from the defaults, as text by name.

    By default nothing is set, and a reply ends at the stop strings that the formulation has for the role, or at a line
    break if the formulation has none.
    """
    choices: dict[str, str] = {}
    agent_formulation = FORMULATIONS.find(formulation)
    usual = {role: sampling.stop for role, sampling in agent_formulation.samplings.items()} if agent_formulation else {}
    role_samplings = {
        role: sampling for role, sampling in agent.get("samplings", {}).items() if isinstance(sampling, Mapping)
    }
    for role, sampling in {"": agent.get("sampling", {}), **role_samplings}.items():
        of_role = f" of {role}" if role else ""
        stop = sampling.get("stop")
        if isinstance(stop, Sequence) and tuple(stop) != usual.get(role, LINE_BREAK):
            choices[f"stop{of_role}"] = describe_stop(stop)
        fields = sampling.get("request")
        for name, value in fields.items() if isinstance(fields, Mapping) else ():
            choices[f"request {name}{of_role}"] = describe_field(value)
    for name in ("system", "prompt"):
        if isinstance(text := agent.get(name), str):
            choices[name] = describe_text(text)
    return choices


def describe_stop(stop: Sequence[Any]) -> str:
    r"""Return stop strings as one line: `'\n', 'Q:'`, or `none`."""
    return ", ".join(map(repr, stop)) or "none"


def describe_field(value: Any) -> str:
    """Return the value of a request's field as one line; None means that the field is left out."""
    return "left out" if value is None else describe_text(json.dumps(value, ensure_ascii=False, sort_keys=True))


def describe_text(text: str) -> str:
    """Return a text as one line; of a long text, its beginning and the digest of the whole text."""
    line = " ".join(text.split())
    if len(line) <= _LONGEST:
        return line or "none"
    return f"{line[:_LONGEST]}… ({digest(text)[:_SHORT]})"
