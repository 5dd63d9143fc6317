"""Read `--setting NAME=VALUE` and `--sampling ROLE.NAME=VALUE`: the limits, settings and samplings of an agent."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.roles import choose_sampling
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.base import Formulation
from lumos_queue.limits import Limits
from lumos_queue.prompts.tool_agent import CALLS
from lumos_queue.submission.agents import parse_pairs

LARGEST = 2**31 - 1  #: of a limit and of max_tokens; the largest number that both databases can store
COUNTED_BY_FORMULATION = {"steps": "steps", "depth": "depth", "unit": "depth"}  #: name to the limit it needs
# float() reads 1_0, ٣ and -0, too
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
SAMPLED = ("temperature", "top_p", "max_tokens", "beams", "epsilon")
MAX_BEAMS = 1000


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The limits and settings of an agent that these options set."""

    limits: Limits
    settings: Mapping[str, str]  #: of the formulation, those given; to be checked by Formulation.read_settings


def read_settings(
    formulation: Formulation, pairs: Mapping[str, str], own_pairs: Mapping[str, str] = MappingProxyType({})
) -> AgentSettings:
    """Return the formulation's limits, replaced by the limits in `pairs`, and its own settings in both mappings.

    Keys are names of settings. Raises SpecError for an unknown name, and for a limit that cannot be read.
    """
    limits: dict[str, Any] = {}
    for name, value in pairs.items():
        if is_own(formulation, name, value):
            continue
        if name not in asdict(formulation.limits):
            raise unknown(f"setting of '{formulation.name}'", name, list_settings(formulation))
        limit_name = COUNTED_BY_FORMULATION.get(name, "")
        if limit_name and not getattr(formulation.limits, limit_name):
            raise SpecError(
                f"The formulation '{formulation.name}' has no limit of {limit_name}: leave out --setting {name}=…."
            )
        limits[name] = value if name == "unit" else _count(f"--setting {name}", value, 0)
    settings = {name: value for name, value in pairs.items() if is_own(formulation, name, value)}
    return AgentSettings(replace(formulation.limits, **limits), settings | dict(own_pairs))


def split_settings(formulation: Formulation, pairs: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the values of `--setting NAME=VALUE` that are limits, and those of the formulation's own settings.

    Unknown names are among the limits. Raises SpecError for a malformed or repeated pair.
    """
    own_pairs = [pair for pair in pairs if is_own(formulation, *pair.partition("=")[::2])]
    return parse_pairs("--setting", [pair for pair in pairs if pair not in own_pairs]), parse_pairs(
        "--setting", own_pairs
    )


def is_own(formulation: Formulation, name: str, value: str) -> bool:
    """Return whether a setting is the formulation's own, not a limit.

    `calls` of a tool agent can be either: a word is the way to call functions, any other value limits model calls.
    """
    if name == CALLS and formulation.callers:
        return value.isalpha()
    return name in formulation.settings


def read_samplings(
    own_samplings: Mapping[str, Sampling], roles: Sequence[str], common: Sampling, pairs: Mapping[str, str]
) -> dict[str, Sampling]:
    """Return the roles' samplings that differ from `common`: `own_samplings`, changed by `pairs`.

    `pairs` maps ROLE.NAME to a value, `roles` are the agent's. Raises SpecError for an unknown role or name, and for a
    value that cannot be read.
    """
    samplings = dict(own_samplings)
    for name, value in pairs.items():
        role, dot, field = name.rpartition(".")
        if not dot:
            raise SpecError(f"--sampling {name[:80]}=… names no role: expected --sampling ROLE.NAME=VALUE.")
        if role not in roles:
            raise unknown("role that --sampling can set here", role[:80], roles)
        if field not in SAMPLED:
            raise unknown("setting of --sampling", field[:80], SAMPLED)
        before = choose_sampling(role, samplings, common)
        samplings[role] = replace(before, **{field: _read_value(f"--sampling {name}", field, value)})
    return samplings


def list_settings(formulation: Formulation) -> list[str]:
    """Return the names that --setting can set for the formulation."""
    possible = [
        name
        for name in asdict(formulation.limits)
        if name not in COUNTED_BY_FORMULATION or getattr(formulation.limits, COUNTED_BY_FORMULATION[name])
    ]
    return list(dict.fromkeys((*possible, *formulation.settings)))


def _count(option: str, text: str, least: int, largest: int = LARGEST) -> int:
    """Return `text` as a whole number from `least` to `largest`. Raises SpecError for any other text."""
    # A number of more digits takes long to read, and cannot be stored.
    if text.isascii() and text.isdecimal() and len(text) <= len(str(LARGEST)) and least <= int(text) <= largest:
        return int(text)
    raise SpecError(f"{option} must be a whole number from {least} to {largest}, not '{text[:40]}'.")


def _read_value(option: str, name: str, text: str) -> float | int:
    """Return the value of a sampling's setting. Raises SpecError outside the bounds of --temperature, --top-p, …."""
    if name == "max_tokens":
        return _count(option, text, 1)
    if name == "beams":
        return _count(option, text, 0, MAX_BEAMS)
    largest = 1.0 if name in ("top_p", "epsilon") else math.inf
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if math.isfinite(value) and value <= largest:
        return value
    bounds = "a number from 0 to 1" if largest == 1 else "a finite number that is not negative"
    raise SpecError(f"{option} must be {bounds}, not '{text[:40]}'.")
