"""Windows of a fit: resumable, and the same weights however they are cut."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lumos_queue.errors import DivergedFit, SpecError
from lumos_queue.models.tokens import prepare_tokenizer
from lumos_queue.training.engine.checkpoints import SEAL, checkpoint_of, read_seal
from lumos_queue.training.engine.dev_record import DevRecord
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.spec import ADAMW, BF16, FitSpec, LoraShape
from tests.tiny_fits import own_tokenizer, small_spec, write_fit, write_llama
from tests.tiny_llama import make_tiny_llama

if TYPE_CHECKING:
    from lumos_queue.training.engine.window import FitWindow


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The data of a fit from random weights."""
    folder = tmp_path_factory.mktemp("data")
    write_fit(folder, own_tokenizer())
    return folder


@pytest.fixture(scope="module")
def llama(tmp_path_factory) -> FitSpec:
    """Adapters of an untied LLaMA with grouped queries in shards, and the row of its new pad token."""
    folder = tmp_path_factory.mktemp("llama")
    make_tiny_llama(folder / "base")
    prepared = prepare_tokenizer(folder / "base")
    assert prepared.added == (len(prepared.tokenizer) - 1,)  # <pad>
    write_fit(folder, prepared.tokenizer)
    return small_spec(
        folder,
        base=str(folder / "base"),
        lora=LoraShape(rank=4, alpha=8, dropout=0.1),
        optimizer=ADAMW,
        rate=0.01,
        dropout=0.0,
        prompt_weight=0.0,
        decay=1.0,
    )


def weights(done: FitWindow | Path) -> bytes:
    folder = done if isinstance(done, Path) else done.checkpoint
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.safetensors")))


def curve(*done: FitWindow) -> list[tuple]:
    """The steps without their memory, which depends on what the process did before."""
    return [(step.step, step.loss, step.rate, step.grad_norm, step.tokens) for one in done for step in one.steps]


CASES = {
    "all weights, muon, dropout": {},
    "all weights, adamw": {"optimizer": ADAMW, "rate": 1e-3},
    "bfloat16": {"precision": BF16},
    "gradient checkpointing": {"gradient_checkpointing": True},
    "accumulation": {"micro_batch": 2},
}


@pytest.mark.parametrize(
    "case", [one if one == "bfloat16" else pytest.param(one, marks=pytest.mark.long) for one in CASES]
)
def test_four_windows_give_the_weights_and_the_curve_of_one_bit_for_bit(case, folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder, **CASES[case])
    whole = run_window(spec, tmp_path / "whole", WindowPlan(0, 15))
    parts = [run_window(spec, tmp_path / "parts", WindowPlan(*ends)) for ends in ((0, 4), (4, 5), (5, 12), (12, 15))]
    assert weights(parts[-1]) == weights(whole)
    assert curve(*parts) == curve(whole)
    assert parts[-1].dev_loss == whole.dev_loss
    assert [step[0] for step in curve(whole)] == list(range(1, 16))


@pytest.mark.parametrize("checkpointing", [False, pytest.param(True, marks=pytest.mark.long)])
def test_adapters_too_are_the_same_however_they_are_cut(llama, checkpointing, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = replace(llama, gradient_checkpointing=checkpointing, precision=BF16, micro_batch=2)
    whole = run_window(spec, tmp_path / "whole", WindowPlan(0, 9))
    parts = [run_window(spec, tmp_path / "parts", WindowPlan(*ends)) for ends in ((0, 3), (3, 5), (5, 9))]
    assert weights(parts[-1]) == weights(whole)
    assert curve(*parts) == curve(whole)
    assert whole.dev_loss < whole.best_dev_loss  # that of the base


def test_an_adapter_holds_the_new_rows_and_nothing_else_of_the_base(llama, tmp_path):
    from safetensors.torch import load_file

    from lumos_queue.training.engine.window import run_window

    done = run_window(llama, tmp_path, WindowPlan(0, 2))
    tensors = load_file(done.checkpoint / "adapter_model.safetensors")
    rows = {name: value.shape for name, value in tensors.items() if "lora" not in name}
    assert len(rows) == 2 and {shape[0] for shape in rows.values()} == {1}  # of the embeddings, and of the head
    assert sum("lora_A" in name for name in tensors) == 2 * 7


def test_a_window_that_was_done_before_is_read_from_its_seal(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder)
    first = run_window(spec, tmp_path, WindowPlan(0, 3))
    written = (first.checkpoint / SEAL).stat().st_mtime_ns
    assert run_window(spec, tmp_path, WindowPlan(0, 3)) == first
    assert (first.checkpoint / SEAL).stat().st_mtime_ns == written


def test_a_damaged_checkpoint_is_found_and_its_steps_are_done_again(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder)
    for start in (0, 2, 4):
        whole = run_window(spec, tmp_path / "whole", WindowPlan(start, start + 2))
    for start in (0, 2):
        run_window(spec, tmp_path / "cut", WindowPlan(start, start + 2))
    damaged = checkpoint_of(tmp_path / "cut", 4) / "optimizer.pt"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    again = run_window(spec, tmp_path / "cut", WindowPlan(4, 6))
    assert weights(again) == weights(whole)
    assert "optimizer.pt is not as it was written" in again.notes[0] and "step 2" in again.notes[1]
    assert [step.step for step in again.steps] == [5, 6]  # those of steps 3 and 4 were reported before


def test_a_half_written_checkpoint_counts_for_nothing(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder)
    whole = run_window(spec, tmp_path / "whole", WindowPlan(0, 4))
    run_window(spec, tmp_path / "cut", WindowPlan(0, 2))
    half = tmp_path / "cut" / "checkpoint-4"
    shutil.copytree(checkpoint_of(tmp_path / "cut", 2), half)
    (half / SEAL).unlink()
    assert weights(run_window(spec, tmp_path / "cut", WindowPlan(2, 4))) == weights(whole)
    assert not half.exists()


def test_a_checkpoint_of_another_fit_is_not_gone_on_from(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    run_window(small_spec(folder), tmp_path, WindowPlan(0, 2))
    other = run_window(small_spec(folder, seed=1), tmp_path, WindowPlan(2, 4))
    assert "is of another fit" in other.notes[0]
    assert weights(other) == weights(run_window(small_spec(folder, seed=1), tmp_path / "alone", WindowPlan(0, 4)))


def test_the_two_newest_checkpoints_are_kept(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder)
    for start in range(4):
        run_window(spec, tmp_path, WindowPlan(start, start + 1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-000003", "step-000004"]


def test_a_fit_learns(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder, epochs=12, dropout=0.0)
    losses = [run_window(spec, tmp_path, WindowPlan(start, start + 20)).dev_loss for start in (0, 20, 40)]
    assert losses[2] < losses[1] < losses[0] - 0.3


def test_a_loss_that_is_not_a_number_ends_the_window_and_leaves_the_checkpoint(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder, optimizer=ADAMW, rate=1e30)
    with pytest.raises(DivergedFit, match=r"step \d+: the loss is .*, its gradient's norm nan"):
        run_window(spec, tmp_path, WindowPlan(0, 10))
    assert not list(tmp_path.glob("step-*"))


@pytest.mark.parametrize(
    ("now", "best", "pauses"),
    [(2.27, 0.034, True), (0.5, 0.034, False), (0.6, 0.09, True), (3.0, 1.1, False), (3.4, 1.1, True), (1, None, 0)],
)
def test_a_relapse_pauses_the_job(now, best, pauses, tmp_path):
    from lumos_queue.training.engine.window import FitWindow
    from lumos_queue.training.report import pause_reason

    reason = pause_reason(FitWindow(tmp_path, (), DevRecord(((5, now),), (5, now), best), 1, 1, 1.0, ()))
    assert bool(reason) == pauses
    if pauses:
        assert f"from {best:.3f} to {now:.3f}" in reason


def test_the_best_development_loss_is_that_of_all_windows_before(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder)
    seen = [run_window(spec, tmp_path, WindowPlan(start, start + 5)) for start in (0, 5, 10)]
    assert seen[0].best_dev_loss is None  # that of random weights says nothing
    assert seen[2].best_dev_loss == min(seen[0].dev_loss, seen[1].dev_loss)


def test_out_of_memory_halves_the_forward_pass_and_doubles_the_accumulation(folder, tmp_path, monkeypatch):
    import torch

    from lumos_queue.training.engine import window as windows
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder, micro_batch=8)
    real, sizes = windows.train_steps, []

    def short_of_memory(spec, attempt, reporter):
        sizes.append(attempt.micro_batch)
        if attempt.micro_batch > 2:
            torch.empty(2**60)  # what the machine really says
        real(spec, attempt, reporter)

    monkeypatch.setattr(windows, "train_steps", short_of_memory)
    done = run_window(spec, tmp_path, WindowPlan(0, 2))
    assert sizes == [8, 4, 2] and done.micro_batch == 2
    assert done.notes[-1] == "Out of memory: 2 conversations in a forward pass instead of 4."
    assert run_window(spec, tmp_path, WindowPlan(2, 3)).micro_batch == 2  # later windows begin with it
    assert sizes == [8, 4, 2, 2]


def test_an_exported_model_is_loaded_by_transformers_and_computes_the_same(folder, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from lumos_queue.training.engine.export import export_fit
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder)
    run_window(spec, tmp_path / "fit", WindowPlan(0, 3))
    made = export_fit(spec, checkpoint_of(tmp_path / "fit", 3), 3, tmp_path / "model", {"builds": ["b"]})
    assert (made.kind, made.base) == ("full", "")
    assert made.bytes == (tmp_path / "model/model.safetensors").stat().st_size
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    fitted = AutoModelForCausalLM.from_pretrained(checkpoint_of(tmp_path / "fit", 3), dtype=torch.bfloat16).float()
    ids = torch.tensor([tokenizer("<|user|>\nAdd 1 and 2.\n<|assistant|>\n")["input_ids"]])
    assert torch.equal(model(ids).logits, fitted(ids).logits)
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id and not model.generation_config.do_sample
    assert json.loads((tmp_path / "model/made-from.json").read_text())["step"] == 3


def test_a_tied_base_in_shards_is_trained_as_a_whole(tmp_path):
    from lumos_queue.training.engine.window import run_window

    tokenizer = own_tokenizer()
    write_fit(tmp_path, tokenizer)
    base = write_llama(tmp_path / "base", tokenizer, tied=True, shards="20KB")
    spec = small_spec(tmp_path, base=str(base), optimizer=ADAMW, rate=0.01)
    done = run_window(spec, tmp_path / "fit", WindowPlan(0, 15))
    assert len(list(base.glob("*.safetensors"))) > 2
    assert done.dev_loss < done.best_dev_loss


def test_a_pickle_in_place_of_a_checkpoint_is_not_run(folder, tmp_path):
    import torch

    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder)
    run_window(spec, tmp_path, WindowPlan(0, 1))
    ran = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return (Path.touch, (ran,))

    place = checkpoint_of(tmp_path, 1)
    torch.save(Evil(), place / "optimizer.pt")
    seal = json.loads((place / SEAL).read_text())
    del seal["files"]["optimizer.pt"]  # whoever can write the folder can write the seal
    (place / SEAL).write_text(json.dumps(seal))
    with pytest.raises(Exception, match=r"(?i)weights_only|unsupported"):
        run_window(spec, tmp_path, WindowPlan(1, 2))
    assert not ran.exists()


def test_a_spec_survives_json_and_its_digest_follows_what_decides_the_weights():
    spec = FitSpec(lora=LoraShape(), seed=3, data="/a", base="/b")
    assert FitSpec.from_json(json.loads(json.dumps(spec.as_json()))) == spec
    assert replace(spec, data="/elsewhere", base="/c").digest == spec.digest
    changed = {"seed": 4, "rate": 1.0, "lora": None, "content": "x", "micro_batch": 3, "threads": 2, "max_length": 5}
    assert len({replace(spec, **{name: value}).digest for name, value in changed.items()} | {spec.digest}) == 8


def test_the_steps_are_those_of_the_epochs():
    assert FitSpec(epochs=2, batch=128).steps_of(1000) == 16
    assert FitSpec(epochs=0.5, batch=10).steps_of(100) == 5
    assert FitSpec(steps=7).steps_of(100) == 7


def test_a_truncated_base_is_refused_where_it_is_loaded(tmp_path):
    from safetensors.torch import load_file, save_file

    from lumos_queue.training.engine.window import run_window

    tokenizer = own_tokenizer()
    write_fit(tmp_path, tokenizer)
    base = write_llama(tmp_path / "base", tokenizer)
    tensors = load_file(base / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SpecError, match="up_proj"):
        run_window(small_spec(tmp_path, base=str(base)), tmp_path / "fit", WindowPlan(0, 1))


def test_a_seal_names_every_file(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    done = run_window(small_spec(folder), tmp_path, WindowPlan(0, 1))
    assert set(read_seal(done.checkpoint)["files"]) == {path.name for path in done.checkpoint.iterdir()} - {SEAL}
