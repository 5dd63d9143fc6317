"""Upper limits of the figures of `make structure`, from [tool.structure.limits] in pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_limits(project: Path) -> dict[str, float]:
    """Return the limits of a pyproject.toml, by the names of `select_measures`.

    Raises ValueError for a limit that is not a number.
    """
    table = tomllib.loads(project.read_text(encoding="utf-8")).get("tool", {}).get("structure", {}).get("limits", {})
    for name, limit in table.items():
        if isinstance(limit, bool) or not isinstance(limit, int | float):
            raise ValueError(f"{project}: [tool.structure.limits] {name} = {limit!r} is no number.")
    return table


def select_measures(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a report that may have a limit."""
    return {
        "empty_names_per_1000_bindings": report["empty_names_per_1000_bindings"],
        "general_names": len(report["general_names"]),
        "functions_that_begin_with_a_participle": len(report["functions_that_begin_with_a_participle"]),
        "fmt_skip": len(report["fmt_skip_everywhere"]),
    }


def find_excesses(measures: Mapping[str, float], limits: Mapping[str, float]) -> list[str]:
    """Return one line for each measure above its limit. Raises ValueError for a limit without a measure."""
    unknown = sorted(limits.keys() - measures.keys())
    if unknown:
        raise ValueError(f"'{unknown[0]}' has a limit and is not measured; measured are {', '.join(sorted(measures))}.")
    return [
        f"{name} is {measures[name]:,}; at most {limit:,} are allowed"
        for name, limit in limits.items()
        if measures[name] > limit
    ]
