"""Submit training jobs, as the commands of `lumos train` do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.api.connect import translate_failures
from lumos_queue.api.evaluate import Values
from lumos_queue.api.forks import note_call
from lumos_queue.api.jobs import JobHandle
from lumos_queue.api.start import log, store_job
from lumos_queue.api.submit import handle_of, pairs
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.jobs.train import Train
from lumos_queue.settings import Settings, read_settings
from lumos_queue.submission.ranges import RANGES, check_ranges
from lumos_queue.submission.tags import read_name_and_tags
from lumos_queue.training.recipes.base import Recipe
from lumos_queue.training.recipes.registry import RECIPES
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.plugins import TRUSTED


@translate_failures()
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

    The `values` of `sft` are data (a build, or several), folder, start, formulation, module, preset, window, and fields
    of a fit such as steps, batch, rate, lora (its rank), seed and device (`cpu` or `cuda`). The `values` of `experts`
    are folder, only, profile, steps and seed. A plug-in's recipe reads its `values` by its method `from_json`. Return
    value and errors are those of `evaluate`.

    >>> import lumos_queue as lq
    >>> lq.train("sft", data="no_such_build", folder="out")
    Traceback (most recent call last):
    lumos_queue.errors.SpecError: There is no build 'no_such_build'...
    """
    check_ranges({"priority": priority})
    if not isinstance(getattr(recipe, "name", recipe), str):
        raise SpecError(f"A recipe is {recipe!r:.80}: expected a name, or a recipe as an object.")
    deployment = deployment or read_settings()
    TRUSTED.add_named(recipe if isinstance(recipe, str) else recipe.name)
    name_and_tags = read_name_and_tags(name, pairs("tags", tags))
    with note_call(deployment):
        job = Train(_make(recipe, values, deployment) if isinstance(recipe, str) else recipe)
        windows = len(job.windows())
        row, new = store_job(
            deployment,
            job,
            None,
            log.warning,
            name_and_tags=name_and_tags,
            windows=windows,
            scheduling=Scheduling(priority),
            again=again,
        )
    return handle_of(deployment, row, new)


def _make(name: str, values: dict[str, Any], deployment: Settings) -> Recipe:
    if name in _BUILDERS:
        check_ranges(values)
        try:
            return _BUILDERS[name](deployment, **values)
        except TypeError as error:  # wrong arguments; wrong values raise SpecError
            raise SpecError(f"The recipe '{name}' cannot use these arguments: {error}.") from error
    if RECIPES.is_built_in(name):
        raise SpecError(f"The recipe '{name}' runs from the command line only: lumos train {name} --help")
    return RECIPES.load(name).from_json(values)


def _make_sft(
    deployment: Settings,
    *,
    data: str | list[str],
    folder: str | Path,
    start: str = "starter",
    formulation: str = USUAL,
    **values: Any,
) -> Recipe:
    from lumos_queue.submission.fit_precision import choose_cpu_precision
    from lumos_queue.training.engine.spec import LoraShape
    from lumos_queue.training.recipes.sft import find_data, sft

    values = {name: value for name, value in values.items() if value or name not in RANGES}  # 0: the preset's
    if "lora" in values:
        values["lora"] = LoraShape(rank=values["lora"])
    for name, choices in _CHOICES.items():
        if name in values and values[name] not in choices:
            raise unknown(f"value of {name}", str(values[name]), choices)
    if "precision" not in values:
        values["cpu_precision"] = choose_cpu_precision(deployment, values.get("device", "cpu"))
    builds = [find_data(deployment, text) for text in ([data] if isinstance(data, str) else data)]
    return sft(builds, start, Path(folder), formulation, **values)


def _make_experts(
    deployment: Settings,
    *,
    folder: str | Path,
    only: tuple[str, ...] = (),
    profile: str = "both",
    steps: int = 0,
    seed: int = 0,
) -> Recipe:
    with import_libraries():
        from lumos_queue.training.recipes.experts import experts

    return experts(Path(folder), only, profile, steps, seed)


_CHOICES = {"device": ("cpu", "cuda"), "precision": ("bf16", "fp32")}
_BUILDERS: Mapping[str, Callable[..., Recipe]] = {"sft": _make_sft, "experts": _make_experts}
