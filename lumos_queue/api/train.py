"""Submit training jobs, as the commands of `lumos train` do."""

from __future__ import annotations

from typing import Any

from lumos_queue.api.argument_types import Values
from lumos_queue.api.jobs import JobHandle
from lumos_queue.api.start import log, store_job
from lumos_queue.api.submit import handle_of, read_submit_options
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.deployment.forks import note_call
from lumos_queue.errors import SpecError
from lumos_queue.jobs.train import Train
from lumos_queue.settings import Settings, read_settings
from lumos_queue.submission.requests.checks import spell_errors
from lumos_queue.submission.requests.option import Entrance
from lumos_queue.submission.requests.reading import make_request
from lumos_queue.submission.requests.training import ExpertsRequest, SftRequest
from lumos_queue.submission.training_request import make_experts, make_sft
from lumos_queue.training.recipes.base import Recipe
from lumos_queue.training.recipes.registry import RECIPES
from lumos_queue.util.plugins import TRUSTED


def train(
    recipe: str | Recipe,
    *,
    name: str = "",
    tags: Values | None = None,
    again: bool = False,
    priority: int = 0,
    deployment: Settings | None = None,
    **values: Any,
) -> JobHandle:
    """Train a model. `recipe` is `sft`, `experts`, the name of a plug-in's recipe, or a recipe as an object.

    The `values` of `sft` are the options of `lumos train sft` (docs/commands.md), where data is a build or several and
    start is --from, and further fields of a fit such as optimizer and dropout; the default device is `cpu`. The
    `values` of `experts` are those of `lumos train experts`. A plug-in's recipe reads its `values` by its method
    `from_json`. Return value and errors are those of `evaluate`.

    >>> import lumos_queue as lq
    >>> lq.train("sft", data="no_such_build", folder="out")
    Traceback (most recent call last):
    lumos_queue.errors.SpecError: There is no build 'no_such_build'...
    """
    submit_options = read_submit_options(name, tags, again, priority)
    if not isinstance(getattr(recipe, "name", recipe), str):
        raise SpecError(f"A recipe is {recipe!r:.80}: expected a name, or a recipe as an object.")
    deployment = deployment or read_settings()
    TRUSTED.add_named(recipe if isinstance(recipe, str) else recipe.name)
    with note_call(deployment), Deployment(deployment) as opened:
        job = Train(_make(recipe, values, opened) if isinstance(recipe, str) else recipe)
        row, new = store_job(opened, job, None, submit_options, log.warning, len(job.windows()))
    return handle_of(deployment, row, new)


def _make(name: str, values: dict[str, Any], deployment: Deployment) -> Recipe:
    if name == "sft":
        data = values.get("data")
        values = {"device": "cpu", **values, **({"data": (data,)} if isinstance(data, str) else {})}
        with spell_errors(SftRequest, Entrance.PYTHON):
            return make_sft(make_request(SftRequest, values, Entrance.PYTHON), deployment)
    if name == "experts":
        with spell_errors(ExpertsRequest, Entrance.PYTHON):
            return make_experts(make_request(ExpertsRequest, values, Entrance.PYTHON), deployment.settings)
    if RECIPES.is_built_in(name):
        raise SpecError(f"The recipe '{name}' runs from the command line only: lumos train {name} --help")
    return RECIPES.load(name).from_json(values)
