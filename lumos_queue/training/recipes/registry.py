"""Recipes by name: from the stored JSON to the value."""

from __future__ import annotations

from typing import Any

from lumos_queue.errors import unknown
from lumos_queue.training.recipes.base import Recipe

RECIPES = ("sft", "starter")


def read_recipe(name: str, values: dict[str, Any]) -> Recipe:
    """The recipe whose `as_json` is `values`. Raises SpecError for a name that is none."""
    match name:
        case "sft":
            from lumos_queue.training.recipes.sft import Sft

            return Sft(**{**values, "data": tuple(values["data"])})
        case "starter":
            from lumos_queue.training.recipes.starter import Starter

            return Starter(**values)
    raise unknown("recipe", name, RECIPES)
