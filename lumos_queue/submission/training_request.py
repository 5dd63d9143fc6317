"""Make the recipes of `lumos train` from their requests."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import unknown
from lumos_queue.settings import Settings
from lumos_queue.submission.fit_device import choose_device
from lumos_queue.submission.fit_precision import choose_cpu_precision
from lumos_queue.submission.requests.checks import check_request
from lumos_queue.submission.requests.option import list_changed
from lumos_queue.submission.requests.training import ExpertsRequest, SftRequest, StarterRequest
from lumos_queue.training.engine.control import BEST, LAST, FitControl
from lumos_queue.training.engine.spec import ADAMW, BF16, FP32, MUON, FitSpec, LoraShape
from lumos_queue.training.recipes.base import Recipe
from lumos_queue.training.recipes.sft import find_data, sft
from lumos_queue.training.recipes.starter import FORMULATIONS, Starter, starter
from lumos_queue.training.trackers.names import check_trackers
from lumos_queue.util.model_loading import import_libraries

#: The fields that a request passes on to its fit unchanged. Their defaults mean the values of the preset.
_OF_FIT = {field.name for field in fields(FitSpec)} - {"data", "lora", "device"}


def make_sft(request: SftRequest, deployment: Deployment) -> Recipe:
    """Return the recipe of a fit. Raises SpecError for values that cannot be used, and the errors of `sft`."""
    check_request(request)
    _check_choice("--precision", request.precision, (BF16, FP32))
    _check_choice("--optimizer", request.optimizer, (ADAMW, MUON))
    changed_fields = {option.field for option in list_changed(request)}
    values: dict[str, Any] = {name: getattr(request, name) for name in changed_fields & _OF_FIT}
    if request.lora:
        values["lora"] = LoraShape(rank=request.lora)
    _check_choice("--keep", request.keep, (BEST, LAST))
    check_trackers(request.report_to, is_local=not deployment.broker)
    values["device"] = choose_device(deployment, request.device)
    if not request.precision:
        values["cpu_precision"] = choose_cpu_precision(deployment.settings, values["device"])
    recipe = sft(
        [find_data(deployment.settings, text) for text in request.data],
        request.start,
        request.folder,
        request.formulation,
        module=request.module,
        preset=request.preset,
        window=request.window,
        control=FitControl(
            eval_every=request.eval_every,
            patience=request.patience,
            keep=request.keep,
            checkpoint_seconds=request.checkpoint_seconds,
            report_to=request.report_to,
        ),
        **values,
    )
    recipe.check_development()
    return recipe


def make_starter(request: StarterRequest, settings: Settings) -> Recipe:
    """Return the recipe of the models that come with the project. Raises SpecError, also for missing data."""
    check_request(request)
    check_trackers(request.report_to, is_local=not settings.broker_url)
    for name in request.only:
        _check_choice("--only", name, tuple(FORMULATIONS))
    fits = {"fits": tuple(request.only)} if request.only else {}
    return starter(
        request.data or settings.home / "data",
        request.folder,
        request.start,
        window=request.window,
        seed=request.seed,
        adapter_steps=request.adapter_steps,
        steps=request.steps,
        one_pass_steps=request.one_pass_steps,
        generated=request.generated,
        precision=choose_cpu_precision(settings, Starter.device),
        control=FitControl(checkpoint_seconds=request.checkpoint_seconds, report_to=request.report_to),
        **fits,
    )


def make_experts(request: ExpertsRequest, settings: Settings) -> Recipe:
    """Return the recipe of experts. Raises the errors of `experts`."""
    check_request(request)
    check_trackers(request.report_to, is_local=not settings.broker_url)
    with import_libraries():
        from lumos_queue.training.recipes.experts import experts

    control = FitControl(checkpoint_seconds=request.checkpoint_seconds, report_to=request.report_to)
    return experts(request.folder, request.only, request.profile, request.steps, request.seed, control)


def _check_choice(flag: str, value: str, choices: Collection[str]) -> None:
    if value and value not in choices:
        raise unknown(f"value of {flag}", value, choices)
