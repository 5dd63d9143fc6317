"""The work of the recipe `sft`: encode the conversations, fit the model, and export it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.model_folder import encodes_prompts
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.models.tokens import prepare_tokenizer
from lumos_queue.prompts.conversations import Conversation, read_conversations
from lumos_queue.prompts.function_list import DESCRIPTIONS, find_form, join_forms
from lumos_queue.records import FitPhase
from lumos_queue.training.engine.data import DEV, TRAIN, EncodedConversations
from lumos_queue.training.engine.estimate import estimate_memory
from lumos_queue.training.engine.export import export_fit
from lumos_queue.training.engine.kept import choose_checkpoint
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.prepare import encode_all
from lumos_queue.training.engine.progress import SILENT, Reporter
from lumos_queue.training.engine.spec import FitSpec
from lumos_queue.training.engine.window import available_ranks, run_window
from lumos_queue.training.recipes.base import Window, WindowResult
from lumos_queue.training.recipes.sft import REQUEST, SCRATCH, Sft, files_of
from lumos_queue.training.report import pause_reason, window_report
from lumos_queue.training.scratch import has_templates, learn_tokenizer, symbols
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.regular_file import read_regular_text

TOKENIZER, ENCODED, EXPORT = "tokenizer", "encoded", "export"
DESCRIPTIONS_FILE = "descriptions"  #: in the output folder: whether the prompts of tool agents have descriptions


def run_item(recipe: Sft, window: Window, reporter: Reporter = SILENT) -> WindowResult:
    """Carry out one item of the job, and return its result; `recipes/registry.py` calls this."""
    if window["do"] == "prepare":
        reporter.update(FitPhase.PREPARING)
        return WindowResult({"counts": prepare(recipe), "estimate": estimate_memory(spec_of(recipe)).as_json()})
    if window["do"] == "fit":
        return fit(recipe, window["start"], window["stop"], reporter)
    reporter.update(FitPhase.EXPORTING)
    return export(recipe)


def prepare(recipe: Sft) -> dict[str, int]:
    """Write the tokenizer and the encoded conversations; return counts of conversations used, cut off and left out.

    Raises SpecError when builds, model or folder do not match the request, or when there is nothing to learn.
    """
    recipe.check_unchanged()
    recipe.check_folder()
    folder = from_launch(recipe.folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REQUEST).write_text(json.dumps(recipe.as_json()) + "\n")
    if recipe.start:
        tokenizer = prepare_tokenizer(from_launch(recipe.start)).tokenizer
    else:
        texts = lambda: (conversation.text() for _, conversation in _conversations(recipe, "."))  # noqa: E731
        tokenizer = learn_tokenizer(texts, symbols(recipe.formulation), has_templates(recipe.formulation))
    tokenizer.save_pretrained(folder / TOKENIZER)
    pairs = bool(recipe.start) and encodes_prompts(from_launch(recipe.start))
    form = join_forms({find_form(text) for _, row in _conversations(recipe, ".") for text in row.iterate_texts()})
    (folder / DESCRIPTIONS_FILE).write_text(form)
    counts: Counter[str] = Counter()
    parts = {TRAIN: _conversations(recipe, "."), DEV: _conversations(recipe, "dev")}
    for name, rows in parts.items():
        encode_all(rows, tokenizer, recipe.fit.max_length, folder / ENCODED / name, counts, Path(name).stem, pairs)
    if not counts["train: conversations"]:
        raise SpecError(f"The builds hold no conversation that the model can learn: {dict(counts)}.")
    return dict(sorted(counts.items()))


def fit(recipe: Sft, start: int, stop: int, reporter: Reporter) -> WindowResult:
    """Do one window of the fit. Its report has the loss on development conversations if the builds have some."""
    spec = spec_of(recipe)
    steps = spec.steps_of(_count_prepared_rows(Path(spec.data)))
    if start >= steps:
        return WindowResult({"step": steps, "note": "Fewer conversations than were submitted: no steps are left."})
    plan = WindowPlan.of(recipe.control, start, min(stop, steps), steps, recipe.window)
    window = run_window(spec, recipe.checkpoints(), plan, available_ranks(spec), reporter)
    return WindowResult(window_report("", window), window.steps, pause=pause_reason(window))


def export(recipe: Sft) -> WindowResult:
    """Write the model folder or the adapter, with a file that describes its origin."""
    folder, spec = from_launch(recipe.folder), spec_of(recipe)
    steps = spec.steps_of(_count_prepared_rows(Path(spec.data)))
    origin: dict[str, Any] = {
        "builds": [Path(build).name for build in recipe.data],
        "base": Path(recipe.start).name or SCRATCH,  # a model is shared; the folders of this machine are not
        "formulation": recipe.formulation,
        "module": recipe.module,
    }
    if form := _read_form(folder / DESCRIPTIONS_FILE):
        origin[DESCRIPTIONS] = form
    chosen = choose_checkpoint(spec, recipe.checkpoints(), recipe.control.keep, steps)
    model = export_fit(spec, chosen.checkpoint, chosen.step, folder / EXPORT, origin)
    model = replace(model, name=folder.name, builds=tuple(origin["builds"]))
    return WindowResult({"model": f"local:{model.path}", "kept": chosen.as_json()}, models=(model,))


def _read_form(path: Path) -> str:
    """Return the text of a file; '' if it is missing, as in folders of earlier releases."""
    return read_regular_text(path) if path.exists() else ""


def spec_of(recipe: Sft) -> FitSpec:
    """Return the specification of the fit, with the paths of folders on this machine."""
    folder = from_launch(recipe.folder)
    return replace(
        recipe.fit,
        data=str(folder / ENCODED),
        tokenizer=str(folder / TOKENIZER),
        base=str(from_launch(recipe.start)) if recipe.start else "",
    )


def _count_prepared_rows(folder: Path) -> int:
    return len(EncodedConversations(folder / TRAIN))


def _conversations(recipe: Sft, part: str) -> Iterator[tuple[str, Conversation]]:
    """Yield (file, conversation) for one part of every build. Raises SpecError, with file and row, for a bad row."""
    for build in map(from_launch, recipe.data):
        if part != "." and not (build / part).is_dir():
            continue
        for path in _files(build if part == "." else build / part, recipe):
            try:
                for conversation in read_conversations(path):
                    yield f"{build.name}/{path.name}" if build.is_dir() else path.name, conversation
            except BadRow as problem:
                raise SpecError(f"{path}: {problem}") from None


def _files(folder: Path, recipe: Sft) -> Iterable[Path]:
    return files_of(folder, recipe.formulation, recipe.module)
