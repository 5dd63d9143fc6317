"""The setting of tool agents that says whether they are shown the descriptions of tools and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.formulations.base import Setting, version_of
from lumos_queue.formulations.settings import read_yes_no
from lumos_queue.prompts.function_list import SHOWN, shows_descriptions

DESCRIBED = Setting(
    SHOWN, "whether prompts have the descriptions of tools and arguments; no: prompts of earlier versions", read_yes_no
)


def shows_descriptions_in(spec: Mapping[str, Any]) -> bool:
    """Return whether the agent of a stored job's specification is shown descriptions."""
    agent = spec.get("infer", spec).get("agent", {})
    return shows_descriptions(agent.get("settings", {}), version_of(spec))
