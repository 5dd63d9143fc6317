"""Check a model folder at submission, without loading its weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.model_folder import tokenizer_file
from lumos_queue.errors import SpecError
from lumos_queue.util.model_loading import MODEL_LOADING, import_libraries
from lumos_queue.util.regular_file import check_entries, read_regular, read_regular_text
from lumos_queue.util.untrusted_json import read_json

INDEX = "model.safetensors.index.json"


def check_base(folder: Path) -> None:
    """Check that the folder holds a complete language model in safetensors and its tokenizer.

    The model is causal or an encoder-decoder (T5). The names and shapes of the tensors are compared with the
    tensors of the architecture; the values are not read. Raises SpecError when the check fails.
    """
    config = _read_config(folder)
    check_entries(folder)
    tokenizer_file(folder)
    shapes = _read_shapes(folder)
    expected_shapes = _compute_shapes(folder, config)
    missing_names = [name for name in expected_shapes if name not in shapes and not _is_derived(name, config)]
    if len(missing_names) == len(expected_shapes):
        raise SpecError(
            f"The weights in '{folder}' are not of the type {config['model_type']} that its config.json names."
        )
    if missing_names:
        raise SpecError(
            f"The weights in '{folder}' are incomplete: {missing_names[0]} is missing ({len(missing_names)} in all)."
        )
    for name, shape in expected_shapes.items():
        if name in shapes and shapes[name] != shape:
            raise SpecError(f"'{folder}': {name} has the shape {shapes[name]}, config.json says {shape}.")


def _read_config(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        raise SpecError(f"No folder '{folder}': --from names a Hugging Face model folder, `starter` or `scratch`.")
    try:
        config = read_json(read_regular(folder / "config.json", folder))
    except (OSError, ValueError) as error:
        raise SpecError(f"'{folder}' is not a model folder: config.json cannot be read ({error}).") from None
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise SpecError(f"'{folder / 'config.json'}' has no model_type: expected the type of a causal language model.")
    return config


def _read_shapes(folder: Path) -> dict[str, list[int]]:
    """Return the shape of every tensor by name. Raises SpecError for missing or damaged safetensors files."""
    with import_libraries("safetensors.SafetensorError", "safetensors.safe_open"):
        from safetensors import SafetensorError, safe_open

    files = sorted(folder.glob("*.safetensors"))
    if (folder / INDEX).is_file():
        try:
            file_names = set(json.loads(read_regular_text(folder / INDEX, folder))["weight_map"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise SpecError(f"'{folder / INDEX}' cannot be read: {error}.") from None
        absent = sorted(file_names - {path.name for path in files})
        if absent:
            raise SpecError(f"The weights in '{folder}' are incomplete: {absent[0]} is missing.")
    if not files:
        raise SpecError(f"'{folder}' has no *.safetensors weights; other formats can run code and are refused.")
    shapes: dict[str, list[int]] = {}
    for path in files:
        try:
            with safe_open(path, "pt") as weights:
                shapes |= {name: list(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise SpecError(f"'{path}' is damaged or cut off: {error}.") from None
    return shapes


def _compute_shapes(folder: Path, config: dict[str, Any]) -> dict[str, list[int]]:
    """Return the shape of every tensor of a model with this configuration, by name. No memory is used for weights."""
    with import_libraries():
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

    auto: Any = AutoModelForSeq2SeqLM if config.get("is_encoder_decoder") else AutoModelForCausalLM
    try:
        with MODEL_LOADING, torch.device("meta"):
            model = auto.from_config(AutoConfig.from_pretrained(folder, local_files_only=True))
    except Exception as error:  # a third-party configuration can make the library raise anything
        reason = str(error).partition("\n")[0]
        raise SpecError(f"'{folder}' is not a causal language model that can be trained: {reason}") from None
    return {name: list(value.shape) for name, value in model.state_dict().items()}


def _is_derived(name: str, config: dict[str, Any]) -> bool:
    """Return whether a folder may lack the tensor, because it is a head that shares the embeddings, or a buffer."""
    if name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"):  # T5 stores them as `shared`
        return True
    return (name == "lm_head.weight" and config.get("tie_word_embeddings", False)) or name.endswith("inv_freq")
