"""Bases that cannot be trained are refused before a job is stored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.training.base_check import check_base
from tests.tiny_fits import own_tokenizer, write_llama
from tests.tiny_llama import make_tiny_llama


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return write_llama(tmp_path_factory.mktemp("base") / "llama", own_tokenizer(), shards="20KB")


@pytest.fixture
def copy(base, tmp_path) -> Path:
    return Path(shutil.copytree(base, tmp_path / "copy"))


def rewrite(path: Path, **values) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_llamas_of_every_kind_are_accepted(base, tmp_path):
    check_base(base)
    check_base(write_llama(tmp_path / "tied", own_tokenizer(), tied=True))
    make_tiny_llama(tmp_path / "sentencepiece")
    check_base(tmp_path / "sentencepiece")


def damage_nothing_there(folder: Path) -> None:
    shutil.rmtree(folder)


def damage_config(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "llama"')


def damage_kind(folder: Path) -> None:
    rewrite(folder / "config.json", model_type="bert", architectures=["BertModel"])


def damage_unknown(folder: Path) -> None:
    rewrite(folder / "config.json", model_type="nonesuch")


def damage_shape(folder: Path) -> None:
    rewrite(folder / "config.json", hidden_size=64)


def damage_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def damage_shard(folder: Path) -> None:
    sorted(folder.glob("*.safetensors"))[1].unlink()


def damage_length(folder: Path) -> None:
    path = sorted(folder.glob("*.safetensors"))[1]
    path.write_bytes(path.read_bytes()[:-100])


def damage_index(folder: Path) -> None:
    (folder / "model.safetensors.index.json").write_text("[]")


def damage_weights(folder: Path) -> None:
    for path in folder.glob("*.safetensors"):
        path.unlink()


def damage_pickle(folder: Path) -> None:
    damage_weights(folder)
    (folder / "model.safetensors.index.json").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (damage_nothing_there, "No folder"),
        (damage_config, "config.json cannot be read"),
        (damage_kind, "not of the type bert|not a causal language model"),
        (damage_unknown, "not a causal language model that can be trained"),
        (damage_shape, "has the shape .* config.json says"),
        (damage_tokenizer, "has no tokenizer.json"),
        (damage_shard, r"incomplete: model-.*safetensors is missing"),
        (damage_length, "damaged or cut off"),
        (damage_index, "index.json' cannot be read"),
        (damage_weights, "incomplete: model-.*safetensors is missing"),
        (damage_pickle, "has no .*safetensors weights"),
    ],
)
def test_what_is_damaged_or_of_another_kind_is_named_in_one_line(copy, damage, said):
    damage(copy)
    with pytest.raises(SpecError, match=said) as refused:
        check_base(copy)
    assert "\n" not in str(refused.value)


def test_a_missing_tensor_and_foreign_ones_are_named(tmp_path):
    from safetensors.torch import load_file, save_file

    base = write_llama(tmp_path / "one", own_tokenizer())
    tensors = load_file(base / "model.safetensors")
    gone = tensors.pop("model.layers.1.mlp.up_proj.weight")
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SpecError, match=r"up_proj.weight is missing \(1 in all\)"):
        check_base(base)
    save_file({"encoder.weight": gone}, base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SpecError, match="not of the type llama"):
        check_base(base)
