"""The work of the recipe `starter`: read the data, learn the tokenizers, fit the models and export them.

There are two small models, because the formulations cannot share a planner: its first prompt is the same in both, but
the expected reply differs. The one-pass model starts from the weights of the iterative model.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS as GENERATORS
from lumos_queue.models.tokens import prepare_tokenizer
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import Conversation, gold_conversations, write_conversations
from lumos_queue.records import FitPhase
from lumos_queue.training.engine.checkpoints import checkpoint_of
from lumos_queue.training.engine.data import DEV, TRAIN
from lumos_queue.training.engine.export import export_fit
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.prepare import encode_all
from lumos_queue.training.engine.progress import SILENT, Reporter
from lumos_queue.training.engine.window import available_ranks, run_window
from lumos_queue.training.recipes.base import Window, WindowResult
from lumos_queue.training.recipes.starter import ADAPTER, FORMULATIONS, ITERATIVE, ONE_PASS, Starter
from lumos_queue.training.report import pause_reason, window_report
from lumos_queue.training.scratch import VOCABULARY, phrases
from lumos_queue.training.starter.data import StarterData
from lumos_queue.training.starter.selection import Problem, low_level_problems, select_conversations
from lumos_queue.training.tokenizer import train_tokenizer
from lumos_queue.util.launch_folder import from_launch

#: The small models learn up to this many times the adapter's tokens, because they start from random weights.
SMALL_FACTOR = 6


def list_phrases() -> tuple[str, ...]:
    """Return the fixed texts of the conversations; each is one token."""
    return phrases("maths")


def run_item(recipe: Starter, window: Window, reporter: Reporter = SILENT) -> WindowResult:
    """Carry out one item of the job, and return its result; `recipes/registry.py` calls this."""
    if window["do"] == "prepare":
        reporter.update(FitPhase.PREPARING, fit=recipe.fits[0])
        return WindowResult({"counts": prepare(recipe)})
    if window["do"] == "fit":
        return fit(recipe, window["fit"], window["start"], window["stop"], reporter)
    reporter.update(FitPhase.EXPORTING, fit=recipe.fits[-1])
    return WindowResult({fit: str(export(recipe, fit)) for fit in recipe.fits})


def prepare(recipe: Starter) -> dict[str, int]:
    """Write tokenizers and encoded conversations of every fit; return counts of used and excluded problems."""
    folder = from_launch(recipe.folder)
    folder.mkdir(parents=True, exist_ok=True)
    sources = StarterData(from_launch(recipe.data), recipe.generated)
    counts = sources.counts
    problems = low_level_problems(sources.problems(), counts)
    development = low_level_problems(sources.dev_problems(), counts)
    for name in recipe.fits:
        _prepare_fit(recipe, name, list(problems), development, folder / name, counts)
    (folder / "counts.json").write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    return dict(sorted(counts.items()))


def fit(recipe: Starter, name: str, start: int, stop: int, reporter: Reporter) -> WindowResult:
    """Do one window of the fit `name`."""
    folder = from_launch(recipe.folder)
    if name == ONE_PASS and not start:
        export(recipe, ITERATIVE)
    spec = recipe.specs()[name]
    reporter.update(FitPhase.LOADING, fit=name)
    plan = WindowPlan.of(recipe.control, start, stop, spec.steps, recipe.window_of(name))
    window = run_window(spec, folder / name / "fit", plan, available_ranks(spec), reporter)
    steps = tuple(replace(step, fit=name) for step in window.steps)
    return WindowResult(window_report(name, window), steps, pause=pause_reason(window))


def export(recipe: Starter, name: str) -> Path:
    """Write the model folder, or the adapter, of the fit `name`; return its path."""
    folder, spec = from_launch(recipe.folder), recipe.specs()[name]
    origin: dict[str, Any] = {"base": Path(spec.base).name, "formulation": FORMULATIONS[name], "module": "joint"}
    target = folder / "export" / name
    export_fit(spec, checkpoint_of(folder / name / "fit", spec.steps), spec.steps, target, origin)
    return target


def _prepare_fit(
    recipe: Starter, name: str, problems: list[Problem], development: list[Problem], folder: Path, counts: Counter[str]
) -> None:
    formulation = FORMULATIONS[name]
    agent, generator = Agent(roles={}, domain="maths"), GENERATORS.load(formulation)
    dev_conversations = [
        conversation for pair in development for conversation in gold_conversations(*pair, generator, agent)
    ]
    if name == ADAPTER:
        tokenizer = prepare_tokenizer(from_launch(recipe.base), list_phrases()).tokenizer
        budget = recipe.tokens
    else:
        # One tokenizer for both small models: the second starts from the weights of the first.
        texts = (conversation.text() for pair in problems[::3] for conversation in _all_conversations(pair, agent))
        tokenizer = train_tokenizer(texts, VOCABULARY, list_phrases())
        budget = SMALL_FACTOR * recipe.tokens
    tokenizer.save_pretrained(folder / "tokenizer")
    conversations = select_conversations(
        problems, formulation, budget, lambda text: len(tokenizer(text)["input_ids"]), recipe.seed, counts
    )
    write_conversations(conversations, folder / "train.jsonl")
    limit = recipe.specs()[name].max_length
    for part, rows in ((TRAIN, conversations), (DEV, dev_conversations)):
        labelled_rows = ((formulation, row) for row in rows)
        encode_all(labelled_rows, tokenizer, limit, folder / "encoded" / part, counts, f"{name}, {Path(part).stem}")


def _all_conversations(problem: Problem, agent: Agent) -> list[Conversation]:
    conversations = []
    for name in (ITERATIVE, ONE_PASS):
        try:
            conversations += gold_conversations(*problem, GENERATORS.load(FORMULATIONS[name]), agent)
        except SpecError:  # select_conversations counts problems that a formulation cannot write
            continue
    return conversations
