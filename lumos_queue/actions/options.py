"""Check the names of the options (`--tool NAME=VALUE`) of a domain's actions."""

from __future__ import annotations

from collections.abc import Mapping

from lumos_queue.errors import SpecError, unknown


def check_option_names(tools: Mapping[str, str], domain: str, descriptions: Mapping[str, str] | None = None) -> None:
    """Raise SpecError for an option that the domain does not have. `descriptions` maps its options to their meaning."""
    for name in tools:
        if descriptions and name not in descriptions:
            raise unknown(f"tool option of domain '{domain}'", name, descriptions)
        if not descriptions:
            raise SpecError(f"The domain '{domain}' has no tool options: leave out --tool {name}=….")
