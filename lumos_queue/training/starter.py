"""The work of the recipe `starter`: the data, the tokenizer and the two fits. `lumos train starter` submits it.

One fit is for the iterative formulation, from random weights; then a short one for one-pass starts from its weights.
They cannot share a planner: its first prompt is the same in both formulations, the expected reply is not.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.models.starter import STARTERS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import Conversation, gold_conversations, write_conversations
from lumos_queue.training.fit import FitSpec
from lumos_queue.training.recipes.base import Window
from lumos_queue.training.recipes.starter import Starter
from lumos_queue.training.scratch import VOCABULARY, phrases
from lumos_queue.training.starter_data import StarterData
from lumos_queue.training.tokenizer import train_tokenizer
from lumos_queue.training.window import export_checkpoint, run_window
from lumos_queue.util.launch_folder import from_launch

#: Shares of the tokens. Planning is harder: it gets three quarters.
SHARES = {
    "wordmath/{}/planner": 0.32,
    "wordmath/{}/grounder": 0.12,
    "mawps/{}/planner": 0.21,
    "mawps/{}/grounder": 0.05,
    "gsm8k/{}/planner": 0.23,
    "gsm8k/{}/grounder": 0.07,
}
PHRASES = phrases("maths")  #: each one token


def run_item(recipe: Starter, window: Window) -> dict[str, Any]:
    """Carry out one item of the job (recipes/registry.py)."""
    folder = from_launch(recipe.folder)
    if window["do"] == "prepare":
        return {"counts": prepare(StarterData(from_launch(recipe.data), recipe.generated), folder)}
    fits = specs(folder, recipe.steps, recipe.one_pass_steps)
    if window["do"] == "fit":
        return run_window(fits[window["fit"]], folder / window["fit"], window["start"], window["stop"])
    return {
        name: str(export_checkpoint(spec, folder / name / f"step-{spec.steps:06d}", folder / "export" / name))
        for name, spec in fits.items()
    }


def prepare(sources: StarterData, folder: Path) -> dict[str, int]:
    """Write `iterative.jsonl`, `one-pass.jsonl` and the tokenizer; returns what was used and what was left out."""
    folder.mkdir(parents=True, exist_ok=True)
    agent = Agent(roles={}, domain="maths")
    made: dict[str, list[Conversation]] = {name: [] for name in STARTERS}
    for task, annotation in sources.problems():
        for name, conversations in made.items():
            try:
                conversations += gold_conversations(task, annotation, FORMULATIONS.load(name), agent)
            except SpecError:
                sources.counts[f"{task.benchmark}: not writable as {name}"] += 1
    for name, conversations in made.items():
        write_conversations(conversations, folder / f"{name}.jsonl")
    texts = (one.text() for conversations in made.values() for one in conversations[::3])
    train_tokenizer(texts, VOCABULARY, PHRASES).save_pretrained(folder / "tokenizer")
    counts = {**sources.counts, **{f"conversations: {name}": len(rows) for name, rows in made.items()}}
    (folder / "counts.json").write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    return counts


def specs(folder: Path, steps: int, one_pass_steps: int) -> dict[str, FitSpec]:
    """The two fits, in order. The checkpoints of a fit are in `folder/<its name>`."""
    first = FitSpec(
        data=(str(folder / "iterative.jsonl"),),
        tokenizer=str(folder / "tokenizer"),
        steps=steps,
        window=250,
        seed=7,
        prompt_weight=0.1,
        shares={name.format("iterative"): share for name, share in SHARES.items()},
    )
    second = replace(
        first,
        data=(str(folder / "one-pass.jsonl"),),
        steps=one_pass_steps,
        shares={name.format("one-pass"): share for name, share in SHARES.items()},
        start=str(folder / "iterative" / f"step-{steps:06d}"),
        matrix_rate=0.01,
        other_rate=2e-3,
        decay=1.0,
    )
    return {"iterative": first, "one-pass": second}
