"""`hf:` runs every kind of model that the paper names, and refuses weights that are pickled or not all there."""

from __future__ import annotations

import asyncio
import json
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import Fidelity
from lumos_queue.experts.backends.pixels import from_pixels, read_picture
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.experts.host import ExpertHost
from tests import tiny_experts

PICTURE = from_pixels(np.random.RandomState(3).rand(16, 16, 3))
GIVEN: dict[str, list[bytes]] = {
    "Sentiment Analysis": [b"the film is dull ."],
    "Text Summarization": [b"the film is dull ."],
    "Machine Translation": [b"the film is dull ."],
    "Fill Mask": [b"the [MASK] is [MASK] ."],
    "Question Answering": [b"Anna was born in Paris . " * 12, b"where was Anna born ?"],
    "Text Generation": [b"the film"],
    "Visual Question Answering": [PICTURE, b"what is the film ?"],
    "Text to Image Generation": [b"a film in Paris"],
    "Image Editing": [PICTURE, b"the film is dull"],
}
PIPELINES = ("Text to Image Generation", "Image Editing")  #: importing diffusers takes seconds
IN_PROCESS = [name for name in tiny_experts.KINDS if name not in PIPELINES]


def run_here(expert: str, folder: Path) -> bytes:
    """The answer of the model, loaded in this process."""
    loading = resolve(expert, f"hf:{folder}").loading
    module, _, name = loading.model.partition(":")
    return getattr(import_module(module), name)(**loading.options).run(*GIVEN.get(expert, [PICTURE]))


def run(expert: str, folder: Path) -> bytes:
    """The answer of the model, loaded in an expert's process."""

    async def main() -> bytes:
        host = ExpertHost()
        try:
            inputs = [[one] for one in GIVEN.get(expert, [PICTURE])]
            (result,) = await host.run(resolve(expert, f"hf:{folder}"), inputs)
            assert isinstance(result, bytes), result
            return result
        finally:
            await host.close()

    return asyncio.run(main())


@pytest.mark.parametrize("expert", IN_PROCESS)
def test_a_model_of_this_kind_answers_from_its_folder(expert, tmp_path):
    check_answer(expert, run_here(expert, tiny_experts.make(expert, tmp_path)))


@pytest.mark.parametrize(
    "expert",
    [one if one == "Question Answering" else pytest.param(one, marks=pytest.mark.long) for one in tiny_experts.KINDS],
)
def test_a_model_of_this_kind_runs_in_its_process(expert, tmp_path):
    made = run(expert, tiny_experts.make(expert, tmp_path))
    check_answer(expert, made)
    if expert in PIPELINES:
        assert run(expert, tmp_path) == made, "the noise follows from the text"


def check_answer(expert: str, made: bytes) -> None:
    if expert == "Image Super Resolution":
        assert read_picture(made).size == (32, 32)
        return
    if expert in PIPELINES:
        assert read_picture(made).size == (16, 16)
        return
    text = made.decode()
    among = {
        "Sentiment Analysis": {"negative", "positive"},
        "Image Classification": {"cat", "dog"},
        "Object Detection": {"cat, cat, cat"},
        "Visual Question Answering": {"yes", "no"},
    }
    assert text in among.get(expert, {text})
    if expert == "Fill Mask":
        assert "[MASK]" not in text and text.startswith("the ") and text.endswith(" .") and len(text.split()) >= 5
    if expert == "Question Answering":
        assert text and text in GIVEN[expert][0].decode()


def test_the_digest_follows_the_weights(tmp_path):
    first = resolve("Fill Mask", f"hf:{tiny_experts.make('Fill Mask', tmp_path / 'a')}")
    again = resolve("Fill Mask", f"hf:{tiny_experts.make('Fill Mask', tmp_path / 'b')}")
    other = resolve("Question Answering", f"hf:{tiny_experts.make('Question Answering', tmp_path / 'c')}")
    assert first.digest == again.digest != other.digest
    assert first.fidelity is Fidelity.SUBSTITUTE, "a folder of another name is not the paper's checkpoint"


def test_weights_that_can_run_code_are_refused(tmp_path):
    folder = tiny_experts.make("Fill Mask", tmp_path)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(SpecError, match=r"not run: needs safetensors: .*pytorch_model.bin"):
        resolve("Fill Mask", f"hf:{folder}")


def test_a_folder_with_half_of_a_model_is_refused(tmp_path):
    folder = tiny_experts.make("Fill Mask", tmp_path)
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    names = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    with pytest.raises(SpecError, match=r"lacks model-00002-of-00002.safetensors \(1 of 2 files"):
        resolve("Fill Mask", f"hf:{folder}")


def test_a_cache_without_the_model_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(SpecError, match=r"not run: needs the weights of distilroberta-base.*hf download"):
        resolve("Fill Mask", "hf:distilroberta-base")


def test_a_path_without_a_folder_is_no_id_to_download():
    with pytest.raises(SpecError, match=r"needs a model folder: there is none at '/no/such/folder'\.$"):
        resolve("Fill Mask", "hf:/no/such/folder")


@pytest.mark.parametrize(
    ("expert", "url", "says"),
    [
        ("Colorization", "hf:richzhang/colorization", "not run: needs code"),
        ("Image Style Transfer", "hf:", "not run: needs weights"),
        ("Fill Mask", "package:vader", "Packages that have it: wordsegment"),
        ("Fill Mask", "package:nothing", "No package of experts called 'nothing'"),
        ("Fill Mask", "magic", "names no backend"),
        ("Bake the Cake", "own:", "No expert called"),
        ("Fill Mask", "own:/nowhere", "needs trained experts: '/nowhere' is no folder"),
    ],
)
def test_what_cannot_run_says_so_in_one_line(expert, url, says):
    with pytest.raises(SpecError, match=says) as raised:
        resolve(expert, url)
    assert "\n" not in str(raised.value)


def test_a_pipeline_must_have_all_its_models_as_safetensors(tmp_path):
    whole = tiny_experts.make("Text to Image Generation", tmp_path / "whole")
    url = f"hf:{whole}"
    first = resolve("Text to Image Generation", url)
    assert "diffusers" not in first.note and first.loading is not None and first.loading.seconds > 600
    weights = whole / "unet" / "diffusion_pytorch_model.safetensors"
    changed = tmp_path / "changed"
    shutil.copytree(whole, changed)
    (changed / "scheduler" / "scheduler_config.json").write_text("{}")
    assert resolve("Text to Image Generation", f"hf:{changed}").digest != first.digest, "it decides the image, too"
    breaks = {
        "pickled": lambda folder: (folder / "unet" / weights.name).rename(folder / "unet" / "pytorch_model.bin"),
        "half": lambda folder: shutil.rmtree(folder / "vae"),
        "no index": lambda folder: (folder / "model_index.json").write_text("["),
        "no models": lambda folder: (folder / "model_index.json").write_text('{"_class_name": "X"}'),
    }
    for name, spoil in breaks.items():
        shutil.copytree(whole, tmp_path / name)
        spoil(tmp_path / name)
        with pytest.raises(SpecError, match=r"not run: needs|cannot be read") as raised:
            resolve("Text to Image Generation", f"hf:{tmp_path / name}")
        assert "\n" not in str(raised.value)
