"""The work of the recipe `rltf`: the first checkpoint, the optimizer steps, and the model at the end."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import asdict
from typing import Any

import torch
from transformers.utils import logging

from lumos_queue.endpoints.model_folder import MADE_FROM, digest_of_files, identity, weights
from lumos_queue.errors import SpecError
from lumos_queue.formulations.descriptions import shows_descriptions_in
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.function_list import DESCRIPTIONS, HIDDEN, SHOWN
from lumos_queue.records import FeedbackStep, FitPhase, TrainedModel, TrainingStep
from lumos_queue.training.engine.checkpoints import checkpoint_of, flush, remove_old
from lumos_queue.training.engine.progress import SILENT, Reporter
from lumos_queue.training.recipes.base import Window, WindowResult
from lumos_queue.training.recipes.rltf import REQUEST, Rltf, content_of
from lumos_queue.training.rltf.checkpoint import (
    ADAPTER,
    STATE,
    TRAINING,
    begin_fit,
    load_fit,
    load_policy,
    read_checkpoint,
    read_tokenizer,
    save_fit,
)
from lumos_queue.training.rltf.plot import write_plot
from lumos_queue.training.rltf.policy import AskEncoder
from lumos_queue.training.rltf.rollouts import RolloutBatch
from lumos_queue.training.rltf.update import step_fit
from lumos_queue.util.launch_folder import from_launch

START, EXPORT, PLOT = "start", "export", "rltf.svg"


def run_item(recipe: Rltf, window: Window, reporter: Reporter = SILENT) -> WindowResult:
    """Carry out one item of the job, and return its result; `recipes/registry.py` calls this."""
    logging.disable_progress_bar()
    torch.set_num_threads(recipe.spec.threads)
    if window["do"] == "prepare":
        reporter.update(FitPhase.PREPARING, steps=recipe.steps, start_step=0)
        return prepare(recipe)
    if window["do"] == "update":
        return update(recipe, window["step"], RolloutBatch.from_json(window["rollouts"]), reporter)
    reporter.update(FitPhase.EXPORTING, steps=recipe.steps, step=recipe.steps, start_step=recipe.steps)
    return export(recipe)


def prepare(recipe: Rltf) -> WindowResult:
    """Write the start model and the checkpoint of step 0. Raises SpecError when the model has changed."""
    start, folder = from_launch(recipe.start), from_launch(recipe.folder)
    if content_of(start) != recipe.content:
        raise SpecError(f"The model in '{start}' has changed since this job was submitted: submit it again.")
    recipe.check_folder()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(recipe.checkpoints(), ignore_errors=True)  # remove_old would keep the later steps of an earlier job
    request = folder / f".{REQUEST}"
    request.write_text(json.dumps(recipe.as_json() | {"digest": recipe.digest}) + "\n")
    flush(request)
    request.rename(folder / REQUEST)  # with an incomplete file, the folder would look like that of another fit
    tokenizer, policy = read_tokenizer(start), load_policy(start)
    policy.save_pretrained(folder / START)
    tokenizer.save_pretrained(folder / START)
    save_fit(begin_fit(recipe.spec, policy), recipe, tokenizer, {})
    return WindowResult({"tasks": len(recipe.rows), "steps": recipe.steps})


def update(recipe: Rltf, step: int, rollouts: RolloutBatch, reporter: Reporter) -> WindowResult:
    """Do one optimizer step from the checkpoint of the previous step, and write a new checkpoint.

    If a checkpoint of this step from the same rollouts exists, the step is not repeated: the process that wrote the
    checkpoint was killed before the result of its item was accepted.
    """
    try:
        seal = read_checkpoint(recipe, step)
    except SpecError:
        seal = {}
    is_done = seal.get("rollouts") == rollouts.job
    start = step if is_done else step - 1
    reporter.update(FitPhase.LOADING, steps=recipe.steps, step=start, start_step=start, checkpoint_step=start)
    if not is_done:
        seal = _step(recipe, step, rollouts, reporter)
    training_step, feedback_step = TrainingStep(**seal["done"]), FeedbackStep(**seal["learnt"])
    remove_old(recipe.checkpoints())
    output = {
        "fit": "",
        "step": step,
        "checkpoint": str(checkpoint_of(recipe.checkpoints(), step)),
        "loss": training_step.loss,
        "tokens": training_step.tokens,
        "seconds": seal["seconds"],
        "rollouts": rollouts.job,
        "reward": feedback_step.reward,
    }
    if not recipe.spec.is_released and len({episode.reward for episode in rollouts.episodes}) == 1:
        output["notes"] = ["all rewards are equal: nothing tells one plan from another"]
    return WindowResult(output, (training_step,), feedback=(feedback_step,))


def _step(recipe: Rltf, step: int, rollouts: RolloutBatch, reporter: Reporter) -> dict:
    """Do the optimizer step, write its checkpoint, and return the facts in the checkpoint's seal."""
    began = time.monotonic()
    folder = from_launch(recipe.folder)
    fit, tokenizer = load_fit(recipe, step - 1), read_tokenizer(folder / START)
    reference = None if recipe.spec.lora else load_policy(folder / START)
    encoder = AskEncoder(
        tokenizer,
        bos=recipe.evaluation["agent"]["sampling"].get("bos", True),
        encoder_decoder=bool(fit.policy.config.is_encoder_decoder),
    )
    pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    reporter.update(FitPhase.TRAINING)
    training_step, feedback_step = step_fit(fit, recipe.spec, recipe.steps, rollouts, encoder, pad, reference)
    figures = {"reward": feedback_step.reward, "kl": feedback_step.kl, "entropy": feedback_step.entropy}
    reporter.report_step(training_step, **figures)
    reporter.update(FitPhase.SAVING)
    facts = {
        "rollouts": rollouts.job,
        "done": asdict(training_step),
        "learnt": asdict(feedback_step),
        "seconds": round(time.monotonic() - began, 2),
    }
    save_fit(fit, recipe, tokenizer, facts)
    reporter.update(FitPhase.SAVING, checkpoint_step=step)
    return facts


def export(recipe: Rltf) -> WindowResult:
    """Write the policy of the last step as a model folder, and a chart of all steps."""
    folder, checkpoint = from_launch(recipe.folder), checkpoint_of(recipe.checkpoints(), recipe.steps)
    state = load_fit(recipe, recipe.steps).state
    target = folder / EXPORT
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(checkpoint, target, ignore=shutil.ignore_patterns(ADAPTER, TRAINING, STATE, "seal.json"))
    base = identity(from_launch(recipe.start))["sha256"]
    origin: dict[str, Any] = {"base": {"name": from_launch(recipe.start).name, "sha256": base}, "step": recipe.steps}
    if FORMULATIONS.load(recipe.evaluation["formulation"]).functions:
        origin[DESCRIPTIONS] = SHOWN if shows_descriptions_in(recipe.evaluation) else HIDDEN
    values = {name: field for name, field in recipe.as_json().items() if name in ("roles", "reward", "spec")}
    (target / MADE_FROM).write_text(json.dumps(origin | {"rltf": values}, indent=1) + "\n")
    write_plot(state.history, folder / PLOT)
    files = weights(target)
    model = TrainedModel(
        name=folder.name,
        path=str(target),
        kind="full",
        digest=digest_of_files(files),
        bytes=sum(file.stat().st_size for file in files),
        base=base,
        builds=(),
    )
    return WindowResult({"model": f"local:{target}", "chart": str(folder / PLOT)}, models=(model,))
