"""The work of the recipe `sft`: the conversations that the model can learn, the fit, and the model at the end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast

from lumos_queue.errors import BadRow, SpecError
from lumos_queue.prompts.conversations import Conversation, read_conversations
from lumos_queue.training.dev_loss import dev_loss
from lumos_queue.training.fit import FitSpec, load_tokenizer
from lumos_queue.training.masks import encode
from lumos_queue.training.model import ModelSpec
from lumos_queue.training.recipes.base import Window
from lumos_queue.training.recipes.sft import REQUEST, SCRATCH, Sft, files_of
from lumos_queue.training.scratch import learn_tokenizer
from lumos_queue.training.shape import shape_of
from lumos_queue.training.window import export_checkpoint, run_window
from lumos_queue.util.launch_folder import from_launch

TRAIN, DEV, TOKENIZER, EXPORT, MADE_FROM = "train.jsonl", "dev.jsonl", "tokenizer", "export", "made-from.json"
MAX_WARM_UP = 20  #: steps at most: a model that is trained already needs few
#: Warm-up, decay and weight of the prompts' loss of a fit from random weights: those of the starter agent.
FROM_SCRATCH = (100, 0.6, 0.1)


def run_item(recipe: Sft, window: Window) -> dict[str, Any]:
    """Carry out one item of the job (recipes/registry.py)."""
    if window["do"] == "prepare":
        return prepare(recipe)
    if window["do"] == "fit":
        return fit(recipe, window["start"], window["stop"])
    return export(recipe)


def prepare(recipe: Sft) -> dict[str, Any]:
    """Write the conversations that the model can hold, and count the others by reason.

    Raises SpecError when builds, model or folder are not what was asked for, or when nothing is left to learn.
    """
    recipe.check_unchanged()
    recipe.check_folder()
    folder = from_launch(recipe.folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REQUEST).write_text(json.dumps(recipe.as_json()) + "\n")
    if not recipe.start:
        learn_tokenizer(lambda: (one.text() for _, one in _conversations(recipe, "."))).save_pretrained(
            folder / TOKENIZER
        )
    spec = spec_of(recipe)
    tokenizer, positions = _tokenizer(spec.tokenizer), spec.model.positions
    counts: Counter[str] = Counter()
    for name, part, target in ((TRAIN, ".", "train"), (DEV, "dev", "dev")):
        with (folder / name).open("w", encoding="utf-8") as file:
            for origin, conversation in _conversations(recipe, part):
                problem, tokens = measure_conversation(conversation, tokenizer, positions)
                if problem:
                    counts[f"refused, {problem}"] += 1
                    continue
                file.write(conversation.as_json() + "\n")
                counts[f"{target}: {origin}"] += 1
                counts[f"{target}: tokens"] += tokens
    if not counts["train: tokens"]:
        raise SpecError(f"The builds hold no conversation that the model can learn: {dict(counts)}.")
    return {"counts": dict(sorted(counts.items()))}


def measure_conversation(
    conversation: Conversation, tokenizer: PreTrainedTokenizerFast, positions: int
) -> tuple[str, int]:
    """Why a conversation does not fit into the model ('' when it does), and its number of tokens."""
    for turn in conversation.turns:
        for token in tokenizer.all_special_tokens:
            if token in turn.content:
                return f"{token} in its text", 0
    example = encode(conversation, tokenizer, positions + 1)
    if example is None or len(example.ids) > positions:
        return f"longer than {positions:,} tokens", 0
    if tokenizer.decode(example.ids[1:].tolist(), clean_up_tokenization_spaces=False) != conversation.text():
        return "text that the tokenizer cannot write", 0
    return "", len(example.ids)


def fit(recipe: Sft, start: int, stop: int) -> dict[str, Any]:
    """One window; with conversations kept for development, their loss before (at the first step) and after it."""
    folder, spec = from_launch(recipe.folder), spec_of(recipe)
    known = recipe.start and not start  # the loss of random weights says nothing
    before = _dev(spec, from_launch(recipe.start), folder, "dev_loss_before") if known else {}
    done = run_window(spec, folder / "fit", start, stop)
    return done | before | _dev(spec, Path(done["checkpoint"]), folder, "dev_loss")


def export(recipe: Sft) -> dict[str, Any]:
    """The model folder, with a file that says what it was made from."""
    folder, spec = from_launch(recipe.folder), spec_of(recipe)
    target = export_checkpoint(spec, folder / "fit" / f"step-{spec.steps:06d}", folder / EXPORT)
    made_from = recipe.as_json() | {"data": [Path(build).name for build in recipe.data], "fit": spec.digest}
    for field in ("start", "folder"):
        made_from[field] = Path(made_from[field]).name  # a model is shared; the folders of this machine are not
    made_from["start"] = made_from["start"] or SCRATCH
    (target / MADE_FROM).write_text(json.dumps(made_from, indent=1) + "\n")
    return {"model": f"local:{target}"}


def spec_of(recipe: Sft) -> FitSpec:
    """The fit: short warm-up, then the rates fall to zero. Loss on assistant tokens only, as in LUMOS.

    From random weights the warm-up is longer, the rates fall later, and a tenth of the loss is that on the prompts.
    """
    warm_up, decay, prompt_weight = (MAX_WARM_UP, 1.0, 0.0) if recipe.start else FROM_SCRATCH
    return FitSpec(
        data=(str(from_launch(recipe.folder) / TRAIN),),
        tokenizer=str(from_launch(recipe.start)) if recipe.start else str(from_launch(recipe.folder) / TOKENIZER),
        steps=recipe.steps,
        window=recipe.window,
        seed=recipe.seed,
        model=shape_of(from_launch(recipe.start)) if recipe.start else ModelSpec(),
        start=str(from_launch(recipe.start)) if recipe.start else "",
        matrix_rate=recipe.rate,
        other_rate=recipe.rate / 5,
        warm_up=min(warm_up, max(1, recipe.steps // 10)),
        decay=decay,
        prompt_weight=prompt_weight,
    )


def _conversations(recipe: Sft, part: str) -> Iterator[tuple[str, Conversation]]:
    """(file, conversation) of one part of every build. Raises SpecError naming file and row."""
    for build in map(from_launch, recipe.data):
        if part != "." and not (build / part).is_dir():
            continue
        for path in files_of(build if part == "." else build / part, recipe.formulation):
            try:
                for conversation in read_conversations(path):
                    yield f"{build.name}/{path.name}" if build.is_dir() else path.name, conversation
            except BadRow as problem:
                raise SpecError(f"{path}: {problem}") from None


def _dev(spec: FitSpec, weights: Path, folder: Path, name: str) -> dict[str, float]:
    loss = dev_loss(spec, weights, folder / DEV)
    return {} if loss is None else {name: round(loss, 4)}


def _tokenizer(folder: str) -> PreTrainedTokenizerFast:
    """The tokenizer in a folder. Raises SpecError when it lacks what a fit needs."""
    tokenizer = load_tokenizer(folder)
    for name in ("bos", "eos", "pad"):
        if getattr(tokenizer, f"{name}_token_id") is None:
            raise SpecError(f"The tokenizer in '{folder}' has no {name} token.")
    if tokenizer("</s>", add_special_tokens=False)["input_ids"] != [tokenizer.eos_token_id]:
        raise SpecError(f"The tokenizer in '{folder}' does not read '</s>', with which a LUMOS reply ends, as its end.")
    return tokenizer
