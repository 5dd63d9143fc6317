"""Build the starter agent from data to model folder: `python -m lumos_queue.training.starter --data DATA --work WORK`.

Two fits: one for the iterative formulation, from random weights, then a short one for one-pass that starts from it.
They cannot share a planner: the first prompt is the same in both formulations, the expected reply is not.
Everything is resumable: run it again and it goes on at the last checkpoint.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from lumos_queue.agent import Agent
from lumos_queue.dialogue import ASSISTANT, USER
from lumos_queue.domains import PLAN_HEAD, domain_named
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import formulation
from lumos_queue.notation import KEEP_PLANNING, STOP_PLANNING
from lumos_queue.training.checkpoints import Checkpoint, load_weights, read_checkpoint
from lumos_queue.training.conversations import Conversation, gold_conversations, write_conversations
from lumos_queue.training.fit import FitSpec, fit_window, load_tokenizer
from lumos_queue.training.model import export, make_model
from lumos_queue.training.sources import Sources
from lumos_queue.training.tokenizer import train_tokenizer

FORMULATIONS = ("iterative", "one-pass")
VOCABULARY = 3200
#: Part of the tokens. Planning is what is hard: three quarters of them.
SHARES = {
    "wordmath/{}/planner": 0.36,
    "wordmath/{}/grounder": 0.12,
    "mawps/{}/planner": 0.24,
    "mawps/{}/grounder": 0.06,
    "gsm8k/{}/planner": 0.17,
    "gsm8k/{}/grounder": 0.05,
}
#: What stands in every conversation, each one token.
PHRASES = (
    USER,
    "\n" + ASSISTANT,
    PLAN_HEAD,
    domain_named("maths").ground_head,
    "; Initial Environment Description: None.",
    "Subgoal to be grounded: ",
    "Subgoals to be grounded: ",
    "The executed result for Subgoal ",
    ". Should we stop planning?",
    KEEP_PLANNING + " ",
    STOP_PLANNING,
)


def prepare(sources: Sources, folder: Path) -> dict[str, int]:
    """Write `iterative.jsonl`, `one-pass.jsonl` and the tokenizer; returns what was used and left out."""
    folder.mkdir(parents=True, exist_ok=True)
    agent = Agent(roles={}, domain="maths")
    made: dict[str, list[Conversation]] = {name: [] for name in FORMULATIONS}
    for task, annotation in sources.problems():
        for name, conversations in made.items():
            try:
                conversations += gold_conversations(task, annotation, formulation(name), agent, name)
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
    """The two fits, in order."""
    common = FitSpec(
        data=(), tokenizer=str(folder / "tokenizer"), steps=0, window=250, seed=7, prompt_weight=0.1, dropout=0.08
    )
    return {
        "iterative": replace(
            common,
            data=(str(folder / "iterative.jsonl"),),
            steps=steps,
            shares={name.format("iterative"): share for name, share in SHARES.items()},
        ),
        "one-pass": replace(
            common,
            data=(str(folder / "one-pass.jsonl"),),
            steps=one_pass_steps,
            shares={name.format("one-pass"): share for name, share in SHARES.items()},
            start=str(folder / "iterative" / f"step-{steps:06d}"),
            matrix_rate=0.01,
            other_rate=2e-3,
            decay=1.0,
        ),
    }


def fit(spec: FitSpec, folder: Path, report: Callable[[Checkpoint], None]) -> Path:
    """Do the windows that are not done yet; returns the last checkpoint. The newest two are kept."""
    found = sorted(folder.glob("step-*"))
    previous = found[-1] if found else None
    done = read_checkpoint(previous).step if previous else 0
    for start, stop in spec.windows():
        if stop <= done:
            continue
        checkpoint = fit_window(spec, start, stop, previous, folder)
        report(checkpoint)
        previous = checkpoint.path
        for old in sorted(folder.glob("step-*"))[:-2]:
            shutil.rmtree(old)
    assert previous is not None
    return previous


def export_checkpoint(spec: FitSpec, checkpoint: Path, folder: Path) -> Path:
    """A model folder from a checkpoint."""
    tokenizer = load_tokenizer(spec.tokenizer)
    model = make_model(spec.model, tokenizer, spec.seed)
    load_weights(checkpoint, model)
    return export(model, tokenizer, folder)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with gsm8k, mawps, asdiv and svamp")
    parser.add_argument("--work", type=Path, required=True, help="folder for conversations and checkpoints")
    parser.add_argument("--out", type=Path, help="where the model folders go; default: WORK/export")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--one-pass-steps", type=int, default=900)
    parser.add_argument("--generated", type=int, default=40_000)
    options = parser.parse_args(arguments)
    out = options.out or options.work / "export"
    if not (options.work / "counts.json").is_file():
        for what, count in sorted(prepare(Sources(options.data, options.generated), options.work).items()):
            print(f"{count:7} {what}", flush=True)
    curve = options.work / "curve.jsonl"
    for name, spec in specs(options.work, options.steps, options.one_pass_steps).items():

        def report(done: Checkpoint, name: str = name) -> None:
            row = {"fit": name, "step": done.step, "loss": round(done.loss or 0.0, 4), "tokens": done.tokens}
            row |= {"tokens_per_second": round(done.tokens_per_second), "seconds": round(done.seconds, 1)}
            print(json.dumps(row), flush=True)
            with curve.open("a") as file:
                file.write(json.dumps(row) + "\n")

        last = fit(spec, options.work / name, report)
        print(export_checkpoint(spec, last, out if name == "iterative" else out / name), flush=True)


if __name__ == "__main__":
    main()
