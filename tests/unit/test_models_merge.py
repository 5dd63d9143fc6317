"""Adapters merged into their base, and asked through `local:`."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.model_folder import identity, model_digests
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.errors import SpecError
from lumos_queue.models.merge import ensure_merged_folder, merge_adapter
from lumos_queue.settings import Settings
from tests.faults.disks import small_disk
from tests.tiny_adapter import make_tiny_adapter
from tests.tiny_llama import make_tiny_llama
from tests.tiny_model import make_tiny_model

PHRASES = ("<|user|>\n", "<|assistant|>\n")


@pytest.fixture(scope="module")
def bases(tmp_path_factory) -> dict[str, Path]:
    """A tied model, and one whose matrices differ and whose tokenizer is SentencePiece's, with tokenizer.json."""
    from transformers import AutoTokenizer

    root = tmp_path_factory.mktemp("bases")
    make_tiny_model(root / "tied")
    make_tiny_llama(root / "llama")
    AutoTokenizer.from_pretrained(root / "llama").backend_tokenizer.save(str(root / "llama" / "tokenizer.json"))
    return {name: root / name for name in ("tied", "llama")}


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "models").mkdir(parents=True)
    return tmp_path / "home"


def difference(one, two) -> float:
    """The mean one: rounding to bfloat16 moves a few logits of a random model far."""
    return float((one - two).abs().mean() / two.std())


@pytest.mark.parametrize("name", ["tied", "llama"])
@pytest.mark.parametrize("rows", [False, True], ids=["matrices", "and rows"])
def test_the_merged_model_is_base_and_adapter(bases, tmp_path, name, rows):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    fitted, tokenizer = make_tiny_adapter(bases[name], tmp_path / "adapter", PHRASES if rows else ())
    folder = merge_adapter(bases[name], tmp_path / "adapter", tmp_path / "merged")
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert model.dtype == torch.bfloat16
    ids = torch.tensor([tokenizer("<|user|>\nTom has 8 apples</s>\n<|assistant|>\n")["input_ids"]])
    with torch.no_grad():
        expected, found = fitted(ids).logits, model.float()(ids).logits
        base = AutoModelForCausalLM.from_pretrained(bases[name], dtype=torch.float32)
        base.resize_token_embeddings(len(tokenizer))
        plain = base(ids).logits
    kept = bases_rows(bases[name])
    assert difference(found[..., :kept], expected[..., :kept]) < 0.05
    assert difference(plain[..., :kept], expected[..., :kept]) > 0.3
    if rows:
        assert difference(found, expected) < 0.05
    again = AutoTokenizer.from_pretrained(folder)
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
    settings = model.generation_config
    assert (settings.do_sample, settings.eos_token_id) == (False, tokenizer.eos_token_id)
    assert settings.pad_token_id == tokenizer.pad_token_id
    assert len(model.get_input_embeddings().weight) == len(tokenizer)


def bases_rows(base: Path) -> int:
    return json.loads((base / "config.json").read_text())["vocab_size"]


def test_a_row_that_was_not_trained_is_never_the_best(bases, tmp_path):
    """`<pad>` of LLaMA, when only the matrices were fitted."""
    import torch
    from transformers import AutoModelForCausalLM

    _, tokenizer = make_tiny_adapter(bases["llama"], tmp_path / "adapter", ())
    model = AutoModelForCausalLM.from_pretrained(
        merge_adapter(bases["llama"], tmp_path / "adapter", tmp_path / "merged")
    )
    with torch.no_grad():
        logits = model(torch.randint(0, 300, (8, 40))).logits
    assert tokenizer.pad_token_id == logits.shape[-1] - 1
    assert int((logits.argmax(-1) == tokenizer.pad_token_id).sum()) == 0


def test_its_identity_is_that_of_both(bases, tmp_path):
    make_tiny_adapter(bases["tied"], tmp_path / "adapter", PHRASES)
    one = identity(merge_adapter(bases["tied"], tmp_path / "adapter", tmp_path / "one"))
    assert one["base_sha256"] == identity(bases["tied"])["sha256"]
    assert len({one["sha256"], one["base_sha256"], one["adapter_sha256"]}) == 3

    # Elsewhere, written in another order: the same adapter.
    shutil.copytree(tmp_path / "adapter", tmp_path / "copy")
    config = json.loads((tmp_path / "copy/adapter_config.json").read_text())
    config["target_modules"].reverse()
    config["base_model_name_or_path"] = "/elsewhere"
    (tmp_path / "copy/adapter_config.json").write_text(json.dumps(dict(reversed(config.items()))))
    two = identity(merge_adapter(bases["tied"], tmp_path / "copy", tmp_path / "two"))
    assert {**two, "model": ""} == {**one, "model": ""}

    config["lora_alpha"] += 1
    (tmp_path / "copy/adapter_config.json").write_text(json.dumps(config))
    three = identity(merge_adapter(bases["tied"], tmp_path / "copy", tmp_path / "three"))
    assert three["adapter_sha256"] != one["adapter_sha256"]
    assert three["sha256"] != one["sha256"]

    # What the folder says counts only for the weights that it says it of.
    shutil.copy(tmp_path / "three/model.safetensors", tmp_path / "one/model.safetensors")
    assert "adapter_sha256" not in identity(tmp_path / "one")


def test_another_base_is_refused(bases, tmp_path):
    make_tiny_adapter(bases["tied"], tmp_path / "adapter", ())
    with pytest.raises(SpecError, match="give the base that the adapter was trained on"):
        merge_adapter(bases["llama"], tmp_path / "adapter", tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def ask(url: str, prompt: str) -> tuple[str, dict]:
    async def call():
        endpoint = open_endpoint(url, Settings())
        try:
            reply = await endpoint.generate(ModelCall(prompt, Sampling(max_tokens=12, stop=())))
            return reply.text, await endpoint.identity()
        finally:
            await endpoint.close()

    return asyncio.run(call())


def test_an_adapter_is_asked_as_a_model_is(bases, home, tmp_path):
    shutil.copytree(bases["tied"], home / "models" / "anything")
    make_tiny_adapter(bases["tied"], tmp_path / "mine", PHRASES)
    text, known = ask(f"local:{tmp_path / 'mine'}", "<|user|>\nTom has 8 apples")
    folder = merge_adapter(bases["tied"], tmp_path / "mine", tmp_path / "merged")
    assert text == ask(f"local:{folder}", "<|user|>\nTom has 8 apples")[0]
    assert known["model"] == "mine"
    assert known["base_sha256"] == model_digests(bases["tied"])["sha256"]

    # The second time nothing is merged: the base may be gone.
    shutil.rmtree(home / "models" / "anything")
    before = ensure_merged_folder(tmp_path / "mine")
    assert before.parent == home / "models" / "merged"
    assert [path.name for path in before.parent.iterdir() if path.is_dir()] == [before.name]


def test_a_base_that_is_not_here(bases, home, tmp_path):
    make_tiny_adapter(bases["tied"], tmp_path / "mine", ())
    config = json.loads((tmp_path / "mine/adapter_config.json").read_text())
    (tmp_path / "mine/adapter_config.json").write_text(json.dumps(config | {"base_model_name_or_path": "/nowhere"}))
    with pytest.raises(SpecError, match=r"an adapter of 'tied' .* not on this machine. Put its folder into"):
        open_endpoint(f"local:{tmp_path / 'mine'}", Settings())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda folder: (folder / "adapter_model.safetensors").unlink(), "it has no adapter_model.safetensors"),
        (lambda folder: (folder / "made-from.json").unlink(), "it has no made-from.json"),
        (lambda folder: (folder / "made-from.json").write_text("{}"), "does not name its base"),
        (lambda folder: (folder / "adapter_config.json").write_text("[]"), "expected an object"),
        (lambda folder: (folder / "adapter_config.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "adapter_model.safetensors").write_bytes(b"x" * 99), "cannot be merged into"),
        (lambda folder: edit(folder, peft_type="IA3"), "expected 'LORA'"),
        (lambda folder: edit(folder, megatron_config={"a": 1}, megatron_core="this"), "sets 'megatron_"),
        (lambda folder: edit(folder, r=3), "cannot be merged into"),
        (lambda folder: edit(folder, target_modules=["nothing"]), "cannot be merged into"),
        (lambda folder: edit(folder, target_modules=["q_proj"]), "differ in .* weights"),
        (lambda folder: leave_out(folder), "differ in .* weights"),
    ],
)
def test_adapters_that_cannot_be_merged(bases, tmp_path, change, told):
    make_tiny_adapter(bases["tied"], tmp_path / "adapter", ())
    change(tmp_path / "adapter")
    with pytest.raises(SpecError, match=told) as caught:
        merge_adapter(bases["tied"], tmp_path / "adapter", tmp_path / "merged")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "merged").exists()


def leave_out(folder: Path) -> None:
    """One matrix of the adapter is gone from its file."""
    from safetensors.torch import load_file, save_file

    found = load_file(folder / "adapter_model.safetensors")
    found.pop(sorted(found)[-1])
    save_file(found, folder / "adapter_model.safetensors", {"format": "pt"})


def edit(folder: Path, **changes) -> None:
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps(config | changes))


def test_a_full_disk(bases, tmp_path):
    make_tiny_adapter(bases["tied"], tmp_path / "adapter", ())
    with small_disk(megabytes=1) as disk:
        (disk / "filler").write_bytes(b"x" * 950_000)
        with pytest.raises(SpecError, match="The disk is full"):
            merge_adapter(bases["tied"], tmp_path / "adapter", disk / "merged")
        assert [path.name for path in disk.iterdir() if path.suffix != ".lock"] == ["filler"]
