"""Estimates of a fit's memory beside the tensors of the real fit."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.models.tokens import prepare_tokenizer
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.spec import ADAMW, BF16, MUON, FitSpec, LoraShape, ModelShape
from tests.tiny_fits import own_tokenizer, small_spec, write_fit
from tests.tiny_llama import make_tiny_llama

LENGTH = 96  #: tokens of each conversation
ROWS = 16


def write_conversations(folder: Path, tokens: int) -> None:
    """Write conversations of equal length; every second token is learnt."""
    import numpy as np

    from lumos_queue.training.engine.data import DEV, TRAIN, write_examples
    from lumos_queue.training.engine.masks import Example

    random, learnt = np.random.default_rng(0), np.arange(LENGTH) % 2 == 1
    for name, rows in ((TRAIN, ROWS), (DEV, 2)):
        ids = random.integers(3, tokens, (rows, LENGTH), dtype=np.int32)
        write_examples((Example(row, learnt) for row in ids), folder / name)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """The data of fits from random weights, of a Llama whose tokenizer gets a new token, and of a T5."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    paths = {name: tmp_path_factory.mktemp(name) for name in ("scratch", "llama", "t5")}
    own = own_tokenizer()
    make_tiny_llama(paths["llama"] / "base")
    torch.manual_seed(0)
    shape = {"d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
    T5ForConditionalGeneration(T5Config(vocab_size=len(own), **shape)).save_pretrained(paths["t5"] / "base")
    own.save_pretrained(paths["t5"] / "base")
    for name, path in paths.items():
        tokenizer = prepare_tokenizer(path / "base").tokenizer if name == "llama" else own
        tokenizer.save_pretrained(path / "tokenizer")
        write_conversations(path, len(tokenizer))
    return paths


SHAPE = ModelShape(hidden=64, layers=3, heads=4, feed_forward=160, positions=128)
ADAPTERS: dict[str, Any] = {"lora": LoraShape(rank=4), "optimizer": ADAMW, "dropout": 0.0, "prompt_weight": 0.0}
#: A fit by the folder of its data and by what differs from `small_spec`. A pass has 4 of 8 conversations unless stated.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "muon": ("scratch", {"shape": SHAPE}),
    "one forward pass in a step": ("scratch", {"shape": SHAPE, "optimizer": ADAMW, "batch": 4}),
    "more gradients than activations": (
        "scratch",
        {"shape": ModelShape(256, 3, 4, 768, 128), "optimizer": ADAMW, "micro_batch": 1, "batch": 2},
    ),
    "bfloat16": ("scratch", {"shape": SHAPE, "precision": BF16, "prompt_weight": 0.0}),
    "gradient checkpointing": ("scratch", {"shape": SHAPE, "gradient_checkpointing": True}),
    "all weights of a base": ("llama", {"optimizer": ADAMW}),
    "adapters and a new row": ("llama", ADAPTERS),
    "adapters of a bfloat16 base": ("llama", ADAPTERS | {"precision": BF16, "gradient_checkpointing": True}),
    "an encoder-decoder": ("t5", {"optimizer": ADAMW, "prompt_weight": 0.0}),
}


def make_case(name: str, folders: dict[str, Path]) -> FitSpec:
    folder, values = folders[CASES[name][0]], CASES[name][1]
    base = str(folder / "base") if (folder / "base").exists() else ""
    return small_spec(folder, **{"base": base, "max_length": 128, **values})


@pytest.mark.parametrize("name", CASES)
def test_an_estimate_has_the_sizes_of_the_real_fit(name, folders, tmp_path):
    """Weights, gradients and states of the optimizer are equal, and the peak of all tensors differs by at most 3 %."""
    from transformers import DefaultFlowCallback, TrainerCallback

    from lumos_queue.training.engine.data import TRAIN, EncodedConversations
    from lumos_queue.training.engine.estimate import estimate_memory
    from lumos_queue.training.engine.model import load_model, load_tokenizer
    from lumos_queue.training.engine.tensor_memory import TensorMemory
    from lumos_queue.training.engine.trainer import ConversationTrainer

    spec = make_case(name, folders)
    estimate = estimate_memory(spec)
    model, examples = load_model(spec), EncodedConversations(folders[CASES[name][0]] / TRAIN)
    trainer = ConversationTrainer(spec, model, load_tokenizer(spec.tokenizer), examples, tmp_path, 1, spec.micro_batch)
    gradients: list[int] = []

    class BeforeStep(TrainerCallback):
        def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            tensors = [value.grad for value in model.parameters() if value.grad is not None]
            gradients.append(sum(tensor.numel() * tensor.element_size() for tensor in tensors))

    trainer.add_callback(BeforeStep())

    class WindowEnd(DefaultFlowCallback):
        def on_step_end(self, args, state, control, **_):
            control.should_training_stop = state.global_step >= 2
            return control

    trainer.add_callback(WindowEnd())
    with TensorMemory([*model.parameters(), *model.buffers()]) as memory:
        trainer.train()
    assert estimate.weights == sum(value.numel() * value.element_size() for value in model.parameters())
    assert gradients == [estimate.gradients] * 2
    assert estimate.optimizer == sum(map(bytes_of_state, optimizers_of(trainer)))
    assert estimate.length == LENGTH and estimate.micro_batch == spec.micro_batch
    tensors = estimate.gradients + estimate.optimizer + estimate.activations
    assert memory.peak == pytest.approx(tensors, rel=0.03)


def optimizers_of(trainer: Any) -> list[Any]:
    optimizer = trainer.optimizer.optimizer  # accelerate wraps it
    return list(getattr(optimizer, "_parts", [optimizer]))


def bytes_of_state(optimizer: Any) -> int:
    states = [value for state in optimizer.state.values() for value in state.values()]
    return sum(value.numel() * value.element_size() for value in states)


def test_gradient_checkpointing_and_fewer_conversations_take_less_memory(folders):
    from lumos_queue.training.engine.estimate import estimate_memory

    spec = make_case("muon", folders)
    full, checkpointed = estimate_memory(spec), estimate_memory(replace(spec, gradient_checkpointing=True))
    assert checkpointed.activations < 0.6 * full.activations
    assert estimate_memory(spec, 1).activations < 0.3 * full.activations
    assert estimate_memory(spec, 100).micro_batch == spec.batch


def test_ranks_copy_the_gradients_and_share_the_batch(folders):
    from lumos_queue.training.engine.estimate import estimate_memory

    spec = make_case("one forward pass in a step", folders)
    alone, shared = estimate_memory(spec, 2), estimate_memory(spec, 2, ranks=2)
    assert shared.gradients == 2 * alone.gradients
    assert shared.activations < alone.activations  # the gradients arise while activations are freed


def test_before_the_conversations_are_encoded_the_longest_that_is_allowed_counts(folders):
    from lumos_queue.training.engine.estimate import estimate_memory

    spec = replace(make_case("muon", folders), prompt_weight=0.0)
    encoded, unknown = estimate_memory(spec), estimate_memory(replace(spec, data="", max_length=2 * LENGTH))
    assert (encoded.length, unknown.length) == (LENGTH, 2 * LENGTH)
    assert unknown.activations > 1.9 * encoded.activations
    same = estimate_memory(replace(spec, data="", max_length=LENGTH))  # half is learnt there, too
    assert same.activations == encoded.activations and same.base < encoded.base


@pytest.mark.parametrize("name", ["muon", "adapters and a new row"])
def test_an_estimate_leaves_no_trace_in_the_fit(name, folders, tmp_path):
    import torch

    from lumos_queue.training.engine.estimate import estimate_memory
    from lumos_queue.training.engine.window import run_window

    spec = make_case(name, folders)
    weights = []
    for run in ("without", "with"):
        if run == "with":
            before = torch.get_rng_state()
            estimate_memory(spec)
            assert torch.equal(torch.get_rng_state(), before)
        checkpoint = run_window(spec, tmp_path / run, WindowPlan(0, 2)).checkpoint
        weights.append([path.read_bytes() for path in sorted(checkpoint.glob("*.safetensors"))])
    assert weights[0] == weights[1]


def test_an_architecture_without_fake_kernels_is_estimated_by_the_formula(tmp_path, capfd):
    from transformers import MixtralConfig, MixtralForCausalLM

    from lumos_queue.training.engine.estimate import estimate_memory

    tokenizer = own_tokenizer()
    write_fit(tmp_path, tokenizer)
    shape = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = MixtralConfig(vocab_size=len(tokenizer), num_key_value_heads=2, num_local_experts=4, **shape)
    MixtralForCausalLM(config).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    capfd.readouterr()
    spec = small_spec(tmp_path, base=str(tmp_path / "base"), optimizer=ADAMW, max_length=64)
    estimate = estimate_memory(spec)
    layers = 2 * 4 * estimate.length * 64 * (34 + 5 * 4 * estimate.length / 64) * 2
    assert layers < estimate.activations < 1.5 * layers  # the logits are the rest
    assert estimate_memory(replace(spec, gradient_checkpointing=True)).activations < 0.7 * estimate.activations
    assert capfd.readouterr() == ("", "")


def test_a_micro_batch_that_is_too_large_is_noted_and_not_refused(folders):
    from lumos_queue.training.engine.estimate import check_memory, estimate_memory

    spec = make_case("all weights of a base", folders)
    needs = {size: estimate_memory(spec, size).total for size in (1, 2, 4)}
    assert check_memory(spec, total=needs[4]).fits_micro_batch == 4
    estimate = check_memory(spec, total=needs[4] - 1)
    assert (estimate.micro_batch, estimate.fits_micro_batch) == (4, 2)
    assert check_memory(spec, total=needs[1]).fits_micro_batch == 1
    assert estimate.total == needs[4]
    assert json.loads(json.dumps(estimate.as_json()))["total"] == needs[4]
    alone = estimate_memory(spec, 1)
    assert check_memory(spec, total=alone.total - alone.gaps).fits_micro_batch == 1
    with pytest.raises(SpecError):
        check_memory(spec, total=alone.total - alone.gaps - 1)


def test_a_fit_that_cannot_fit_is_refused_with_the_options_that_help(tmp_path):
    """A Llama of 0.8 billion parameters, of which only the configuration exists."""
    from transformers import LlamaConfig

    from lumos_queue.training.engine.estimate import estimate_memory

    tokenizer = own_tokenizer()
    write_fit(tmp_path, tokenizer)
    shape = {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 4, "num_attention_heads": 32}
    config = LlamaConfig(vocab_size=len(tokenizer), **shape)
    config.architectures = ["LlamaForCausalLM"]
    config.save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    spec = small_spec(
        tmp_path, data="", base=str(tmp_path / "base"), optimizer=ADAMW, max_length=1024, prompt_weight=0.0
    )
    refusals = [refuse(spec, available) for available in (12, 4, 1)]
    adapters = replace(spec, lora=LoraShape(rank=16))
    smaller = replace(adapters, gradient_checkpointing=True, precision=BF16)
    lora, together = (estimate_memory(fit, 1).total / 1e9 for fit in (adapters, smaller))
    assert re.fullmatch(
        r"With one conversation of 1,024 tokens in a forward pass, the fit needs about 1\d\.\d GB of memory, and this "
        rf"machine has 12\.0 GB: use --lora 16 \({lora:.1f} GB\)[^:\n]*\.",
        refusals[0],
    )
    options = "--lora 16 --gradient-checkpointing --precision bf16"
    assert refusals[1].endswith(f"this machine has 4.0 GB: use {options} ({together:.1f} GB).")
    assert f"machine has 1.0 GB: too much even with {options} --max-length 512 (" in refusals[2]
    assert "in each of 2 processes" in refuse(adapters, 1, ranks=2) and "--lora" not in refuse(adapters, 1)


def refuse(spec: FitSpec, gigabytes: int, ranks: int = 1) -> str:
    """Return the text with which a fit is refused."""
    from lumos_queue.training.engine.estimate import check_memory

    with pytest.raises(SpecError) as refusal:
        check_memory(spec, ranks, gigabytes * 10**9)
    return str(refusal.value)


def test_a_base_that_cannot_be_read_is_named(folders):
    from lumos_queue.training.engine.estimate import estimate_memory

    spec = replace(make_case("muon", folders), base=str(folders["scratch"] / "tokenizer"))
    with pytest.raises(SpecError, match=r"config\.json' cannot be read"):
        estimate_memory(spec)
    with pytest.raises(SpecError, match="No language model in"):
        estimate_memory(replace(spec, data=""))


def test_the_optimizer_is_part_of_the_estimate(folders):
    from lumos_queue.training.engine.estimate import estimate_memory

    spec = make_case("muon", folders)
    assert estimate_memory(spec).optimizer < estimate_memory(replace(spec, optimizer=ADAMW)).optimizer
    assert spec.optimizer == MUON


def test_the_remaining_time_is_that_of_the_median_step():
    from lumos_queue.training.engine.duration import estimate_seconds

    assert estimate_seconds([], 10) is estimate_seconds([1.0, 1.0], 10) is None
    assert estimate_seconds([9.0, 1.0, 2.0], 10) == 20.0  # the first step is slow
    assert estimate_seconds([9.0, 1.0, 1.0, 1.0], 0) == 0.0


def test_the_memory_of_a_cpu_is_shared_by_the_ranks_and_that_of_a_gpu_needs_one():
    import torch

    from lumos_queue.training.engine.device_memory import available_memory

    assert available_memory("cpu", 4) < 0.3 * available_memory("cpu")
    if not torch.cuda.is_available():
        with pytest.raises(SpecError, match="has no GPU"):
            available_memory("cuda")
