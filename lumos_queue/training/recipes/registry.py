"""Read a stored recipe by its name, and find the function that does its work. Only this function needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from lumos_queue.training.engine.progress import SILENT, Reporter
from lumos_queue.training.recipes.base import PluginRecipe, Recipe, RunWindow, Window, WindowResult
from lumos_queue.training.recipes.former import FormerFit, is_former
from lumos_queue.util.registry import Registry

RECIPES: Registry[type[Recipe]] = Registry(
    "recipe",
    {
        "experts": "lumos_queue.training.recipes.experts:Experts",
        "rltf": "lumos_queue.training.recipes.rltf:Rltf",
        "sft": "lumos_queue.training.recipes.sft:Sft",
        "starter": "lumos_queue.training.recipes.starter:Starter",
    },
    "recipes",
    type,
)
#: The function that carries out an item of each recipe. It is loaded only in the process that trains.
_WORK: Registry[RunWindow] = Registry(
    "recipe",
    {
        "experts": "lumos_queue.training.experts.work:run_item",
        "rltf": "lumos_queue.training.rltf.work:run_item",
        "sft": "lumos_queue.training.sft:run_item",
        "starter": "lumos_queue.training.starter.work:run_item",
    },
)


def read_recipe(name: str, values: Mapping[str, Any]) -> Recipe | FormerFit:
    """Return the recipe whose `as_json` is `values`. Raises SpecError for an unknown name."""
    return FormerFit(name, values) if is_former(name, values) else RECIPES.load(name).from_json(values)


def run_item(recipe: Recipe | FormerFit, window: Window, reporter: Reporter = SILENT) -> WindowResult:
    """Carry out one item of a training job, and return its result. This runs in its own process.

    Raises SpecError for a problem that a person has to fix, and DivergedFit when the weights are not usable.
    """
    if isinstance(recipe, FormerFit):
        recipe.refuse()
    if recipe.name in _WORK:
        output = _WORK.load(recipe.name)(recipe, window, reporter)
    else:
        output = cast(PluginRecipe, recipe).run_item(window)
    return output if isinstance(output, WindowResult) else WindowResult(output)
