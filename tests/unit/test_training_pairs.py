"""Fits of encoder-decoder models: the loss, windows, adapters, and folders that can be loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lumos_queue.endpoints.model_folder import check_folder
from lumos_queue.errors import SpecError
from lumos_queue.models.merge import merge_adapter
from lumos_queue.prompts.conversations import Conversation, write_conversations
from lumos_queue.prompts.dialogue import Turn
from lumos_queue.training.base_check import check_base
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.spec import ADAMW, MUON, FitSpec, LoraShape
from lumos_queue.training.recipes.registry import run_item
from lumos_queue.training.recipes.sft import Sft, sft
from tests.tiny_flan_t5 import make_tiny_flan_t5
from tests.unit.test_training_engine import curve, weights


def conversation(number: int, replies: int = 1) -> Conversation:
    pair = (Turn("user", f"Add {'one ' * (number % 5)}{number}."), Turn("assistant", f"It is {number}, all of it."))
    return Conversation("sums/direct/solver", f"sums/{number}", pair * replies)


ROWS = [conversation(number) for number in range(30)]


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return make_tiny_flan_t5(tmp_path_factory.mktemp("t5"), [one.text() for one in ROWS])


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    (folder / "dev").mkdir()
    write_conversations([*ROWS[:24], conversation(3, 2)], folder / "solver_direct.jsonl")
    write_conversations(ROWS[24:], folder / "dev" / "solver_direct.jsonl")
    return folder


def recipe(build: Path, base: Path, folder: Path, **values) -> Sft:
    given = {"steps": 6, "window": 4, "batch": 6, "optimizer": ADAMW, "rate": 0.01, "precision": "fp32", "threads": 1}
    return sft([build], str(base), folder, "direct", preset="paper", **{**given, **values})


def prepared(made: Sft) -> FitSpec:
    """The fit's own specification, its conversations encoded."""
    from lumos_queue.training.sft import spec_of

    made_counts = run_item(made, {"do": "prepare"}).output["counts"]
    assert made_counts["train: left out, more than one reply"] == 1 and made_counts["train: conversations"] == 24
    return replace(spec_of(made), micro_batch=3)


def loss_by_hand(folder: Path, rows: list[Conversation]) -> float:
    """Of the folder's model, from texts and weights alone: labels shifted, the end token learnt, no padding."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float32).eval()
    total, count = 0.0, 0
    for one in rows:
        asked = tokenizer(f"<|user|>\n{one.turns[0].content}\n<|assistant|>\n", return_tensors="pt")["input_ids"]
        assert asked[0, -1] == tokenizer.eos_token_id, "the encoder's text has the mark that T5's have"
        reply = [*tokenizer(one.turns[1].content, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        begun = torch.tensor([[model.config.decoder_start_token_id, *reply[:-1]]])
        logits = model(input_ids=asked, decoder_input_ids=begun).logits[0]
        total -= logits.log_softmax(-1)[torch.arange(len(reply)), torch.tensor(reply)].sum().item()
        count += len(reply)
    return total / count


def test_the_loss_of_a_step_is_the_mean_over_the_tokens_of_the_replies(build, base, tmp_path):
    from lumos_queue.training.engine.data import EncodedConversations
    from lumos_queue.training.engine.window import run_window

    spec = replace(prepared(recipe(build, base, tmp_path / "fit", steps=1)), batch=24, micro_batch=24)
    done = run_window(spec, tmp_path / "windows", WindowPlan(0, 1))
    loss = loss_by_hand(base, ROWS[:24])
    assert done.steps[0].loss == pytest.approx(loss, rel=1e-6)
    assert done.steps[0].tokens == sum(EncodedConversations(Path(spec.data) / "train.safetensors").lengths)


@pytest.mark.parametrize(
    "case", ["adamw", *(pytest.param(one, marks=pytest.mark.long) for one in ("muon", "bf16", "adapters", "dropout"))]
)
def test_windows_give_the_weights_and_the_curve_of_one_bit_for_bit(case, build, base, tmp_path):
    from lumos_queue.training.engine.window import FitWindow, run_window

    spec = prepared(recipe(build, base, tmp_path / "fit", steps=10))
    changes = {
        "adamw": {},
        "muon": {"optimizer": MUON, "other_rate": 0.002},
        "bf16": {"precision": "bf16"},
        "adapters": {"lora": LoraShape(rank=2, dropout=0.1), "gradient_checkpointing": True},
        "dropout": {"dropout": 0.2},
    }
    spec = replace(spec, **changes[case])
    whole = run_window(spec, tmp_path / "whole", WindowPlan(0, 10))
    parts = [run_window(spec, tmp_path / "parts", WindowPlan(*ends)) for ends in ((0, 3), (3, 4), (4, 10))]
    assert weights(parts[-1]) == weights(whole) and curve(*parts) == curve(whole)
    assert isinstance(whole, FitWindow) and whole.dev_loss == parts[-1].dev_loss
    assert whole.dev_loss is not None and whole.best_dev_loss is not None and whole.dev_loss <= whole.best_dev_loss
    other = run_window(replace(spec, seed=1), tmp_path / "other", WindowPlan(0, 3))
    assert weights(other) != weights(whole)


def test_the_rate_of_a_fit_takes_the_place_of_the_models_own_dropout(build, base, tmp_path):
    import torch

    from lumos_queue.training.engine.model import load_model

    spec = prepared(recipe(build, base, tmp_path / "fit"))
    for rate in (0.0, 0.3):
        drops = {m.p for m in load_model(replace(spec, dropout=rate)).modules() if isinstance(m, torch.nn.Dropout)}
        assert drops == {rate}


def test_the_model_is_exported_and_has_the_loss_it_was_fitted_to(build, base, tmp_path):
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    made = recipe(build, base, tmp_path / "fit", steps=40, window=40, rate=0.02)
    results = [run_item(made, window) for window in made.windows()]
    [dev_loss] = [one.output["dev_loss"] for one in results if "dev_loss" in one.output]
    check_folder(tmp_path / "fit" / "export")
    check_base(tmp_path / "fit" / "export")
    assert results[-1].models[0].kind == "full"
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "fit" / "export")
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "fit" / "export", dtype=torch.float32)
    assert model.generation_config.decoder_start_token_id == 0
    asked = tokenizer("<|user|>\nAdd one 1.\n<|assistant|>\n", return_tensors="pt")
    text = tokenizer.decode(model.generate(**asked, max_new_tokens=30)[0], skip_special_tokens=True)
    assert text.startswith("It is"), text  # the rest depends on the processor's rounding
    loss = loss_by_hand(tmp_path / "fit" / "export", ROWS[24:])
    # Exported weights are bfloat16, each off by up to 0.2 %; what that does to the loss depends on the processor.
    assert loss == pytest.approx(dev_loss, rel=1e-2)
    assert loss < loss_by_hand(base, ROWS[24:]) / 2


def test_an_adapter_is_exported_and_merged_with_its_base(build, base, tmp_path):
    from safetensors.torch import load_file
    from transformers import AutoModelForSeq2SeqLM

    from lumos_queue.training.engine.model import load_model

    made = recipe(build, base, tmp_path / "fit", lora=LoraShape(rank=2, targets=("q", "v")))
    for window in made.windows():
        done = run_item(made, window)
    export = tmp_path / "fit" / "export"
    assert done.models[0].kind == "adapter"
    named = {
        name.rpartition(".lora_")[0].rpartition(".")[2] for name in load_file(export / "adapter_model.safetensors")
    }
    assert named == {"q", "v"}
    merged = merge_adapter(base, export, tmp_path / "merged")
    model = AutoModelForSeq2SeqLM.from_pretrained(merged)
    assert model.config.is_encoder_decoder and model.generation_config.decoder_start_token_id == 0
    all_of_them = load_model(replace(prepared(recipe(build, base, tmp_path / "all")), lora=LoraShape(rank=2)))
    assert set(all_of_them.peft_config["default"].target_modules) == {"q", "k", "v", "o", "wi_0", "wi_1", "wo"}


def test_bases_are_checked_tied_and_untied(base, tmp_path):
    check_base(base)
    tied = make_tiny_flan_t5(tmp_path / "tied", [one.text() for one in ROWS], tied=True)
    check_base(tied)
    (tied / "model.safetensors").write_bytes((tied / "model.safetensors").read_bytes()[:-9])
    with pytest.raises(SpecError, match="damaged or cut off"):
        check_base(tied)


def test_a_projection_that_is_not_there_is_named(build, base, tmp_path):
    with pytest.raises(SpecError, match="has no q_proj for an adapter"):
        prepared(recipe(build, base, tmp_path / "fit", lora=LoraShape(targets=("q_proj",))))
