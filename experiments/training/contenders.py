"""One contender in its own process: `python -P -m experiments.training.contenders NAME FOLDER STEPS`.

Each trains the same small Llama on the same conversations, in bfloat16 products on one thread, and prints its tokens
per CPU second. FOLDER has `conversations.jsonl`, `data/train.safetensors` and `tokenizer`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from experiments.training.clock import StepClock

ROWS = 8  #: of a batch: Trainer's default
TOKENS = 2000  #: of a batch of the former loop: its default
MUON_ROWS = 16  #: of a batch of about as many tokens


def run_adamw(folder: Path, steps: int) -> float:
    """This engine as the preset `scratch` would run it on batches of Trainer's size."""
    return _run_engine(folder, steps, optimizer="adamw", rate=1e-3, batch=ROWS, micro_batch=ROWS)


def run_muon(folder: Path, steps: int) -> float:
    """This engine with the optimizer, dropout and prompt weight that the former loop had for the starter."""
    return _run_engine(
        folder,
        steps,
        optimizer="muon",
        rate=0.02,
        other_rate=4e-3,
        weight_decay=0.05,
        dropout=0.05,
        prompt_weight=0.1,
        decay=0.6,
        batch=MUON_ROWS,
        micro_batch=MUON_ROWS,
    )


def _run_engine(folder: Path, steps: int, **values: Any) -> float:
    from transformers import TrainerCallback

    from lumos_queue.training.engine.data import TRAIN, EncodedConversations
    from lumos_queue.training.engine.model import load_model, load_tokenizer
    from lumos_queue.training.engine.spec import FitSpec
    from lumos_queue.training.engine.trainer import ConversationTrainer

    spec = FitSpec(data=str(folder / "data"), tokenizer=str(folder / "tokenizer"), steps=steps, **values)
    clock = StepClock()
    data = EncodedConversations(folder / "data" / TRAIN)
    tokenizer = load_tokenizer(spec.tokenizer)
    trainer = ConversationTrainer(spec, load_model(spec), tokenizer, data, folder / "out", 1, spec.micro_batch)

    class Stamps(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            clock.tokens = sum(step.tokens for step in trainer.steps_done)
            clock.start_step()

    trainer.add_callback(Stamps())
    trainer.train()
    clock.tokens = sum(step.tokens for step in trainer.steps_done)
    return clock.rate()


def run_former(folder: Path, steps: int) -> float:
    """The loop that this engine replaced. Its modules are in the version of the project that PYTHONPATH has."""
    batches: Any = import_module("lumos_queue.training.batches")
    fit: Any = import_module("lumos_queue.training.fit")
    clock, draw = StepClock(), batches.Batches.draw

    def timed_draw(self: Any, seed: int, step: int) -> Any:
        clock.start_step()
        examples = draw(self, seed, step)
        clock.tokens += sum(len(example.ids) for example in examples)
        return examples

    batches.Batches.draw = timed_draw
    save = fit.save_checkpoint
    rates: list[float] = []
    fit.save_checkpoint = lambda *arguments: (rates.append(clock.rate()), save(*arguments))[1]
    spec = fit.FitSpec(
        data=(str(folder / "conversations.jsonl"),),
        tokenizer=str(folder / "tokenizer"),
        steps=steps,
        window=steps,
        tokens=TOKENS,
        dropout=0.05,
        prompt_weight=0.1,
        warm_up=10,
    )
    fit.fit_window(spec, 0, steps, None, folder / "out")
    return rates[0]


def run_trainer(folder: Path, steps: int) -> float:
    """`transformers.Trainer` with its defaults, its collator for labels, and a model with its default attention."""
    from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

    tokenizer, model = _model(folder)
    arguments = TrainingArguments(
        output_dir=str(folder / "out"),
        max_steps=steps,
        bf16=True,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    collate = DataCollatorForSeq2Seq(tokenizer)
    rows = _rows(folder)
    return _run_other(Trainer, model, arguments, _Listed(rows), collate)


def run_sft_trainer(folder: Path, steps: int) -> float:
    """TRL's SFTTrainer with its defaults; the loss is on the same tokens."""
    from datasets import Dataset
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    tokenizer, model = _model(folder)
    arguments = SFTConfig(
        output_dir=str(folder / "out"),
        max_steps=steps,
        bf16=True,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    rows = [
        {"input_ids": row["input_ids"], "completion_mask": [int(label >= 0) for label in row["labels"]]}
        for row in _rows(folder)
    ]
    return _run_other(SFTTrainer, model, arguments, Dataset.from_list(rows), None, processing_class=tokenizer)


def _run_other(kind: Any, model: Any, arguments: Any, rows: Any, collate: Any, **options: Any) -> float:
    from transformers import TrainerCallback

    clock = StepClock()

    class Stamps(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            clock.start_step()

    trainer = kind(
        model=model,
        args=arguments,
        train_dataset=rows,
        callbacks=[Stamps()],
        **options,
        **({"data_collator": collate} if collate else {}),
    )
    compute = trainer.compute_loss

    def compute_and_count(model: Any, inputs: dict[str, Any], *extra_arguments: Any, **keywords: Any) -> Any:
        # Padding has no attention. Every collator used here gives a mask.
        clock.tokens += int(inputs["attention_mask"].sum())
        return compute(model, inputs, *extra_arguments, **keywords)

    trainer.compute_loss = compute_and_count
    trainer.train()
    return clock.rate()


def _model(folder: Path) -> tuple[Any, Any]:
    """(tokenizer, the model that this engine has before its first step, but with the library's attention)."""
    from lumos_queue.training.engine.model import load_tokenizer, make_model
    from lumos_queue.training.engine.spec import ModelShape

    tokenizer = load_tokenizer(str(folder / "tokenizer"))
    model = make_model(ModelShape(), tokenizer, 0)
    model.set_attn_implementation("sdpa")
    return tokenizer, model


def _rows(folder: Path) -> list[dict[str, list[int]]]:
    from lumos_queue.training.engine.data import TRAIN, EncodedConversations

    data = EncodedConversations(folder / "data" / TRAIN)
    return [{name: value.tolist() for name, value in data[index].items()} for index in range(len(data))]


class _Listed(torch.utils.data.Dataset[dict[str, list[int]]]):
    def __init__(self, rows: list[dict[str, list[int]]]):
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, list[int]]:
        return dict(self._rows[index])


CONTENDERS: dict[str, Callable[[Path, int], float]] = {
    "adamw": run_adamw,
    "muon": run_muon,
    "former": run_former,
    "trainer": run_trainer,
    "sft-trainer": run_sft_trainer,
}


def main() -> None:
    name, folder, steps = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(1)
    sys.stdout, output = sys.stderr, sys.stdout  # the libraries print, too
    rate = CONTENDERS[name](folder, steps)
    print(json.dumps({"tokens_per_cpu_second": rate, "threads": torch.get_num_threads()}), file=output)
    output.flush()
    os._exit(0)  # nothing of it is needed any more


if __name__ == "__main__":
    main()
