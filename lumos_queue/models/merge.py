"""Merge an adapter into its base: the output is a plain model folder that any server can run."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lumos_queue.endpoints.model_folder import check_folder, digest_of_files, encodes_prompts, model_digests
from lumos_queue.errors import SpecError
from lumos_queue.models.adapters import CONFIG, WEIGHTS, Adapter, digest_of_adapter, find_base, read_adapter
from lumos_queue.models.folders import MERGED, models_folder, require_libraries, write_made_from
from lumos_queue.util.model_loading import MODEL_LOADING, import_libraries
from lumos_queue.util.new_folder import write_folder

#: Options of an adapter's configuration that are passed to peft. All other options must have peft's defaults, because
#: some of them name modules to import or other weights to read.
_OPTIONS = (
    "r",
    "lora_alpha",
    "lora_dropout",
    "target_modules",
    "exclude_modules",
    "bias",
    "use_rslora",
    "use_dora",
    "fan_in_fan_out",
    "modules_to_save",
    "rank_pattern",
    "alpha_pattern",
    "layers_to_transform",
    "layers_pattern",
    "trainable_token_indices",
    "task_type",
    "ensure_weight_tying",
)
_IGNORED = (
    "base_model_name_or_path",
    "inference_mode",
    "peft_type",
    "peft_version",
    "revision",
    "init_lora_weights",
    "auto_mapping",
)


def merge_adapter(base: Path, adapter: Path, target: Path) -> Path:
    """Write base and adapter as one model to `target` (bfloat16), unless `target` exists. Return `target`.

    Some embedding rows have no token in the base and were not trained by the adapter. They become the mean of the other
    rows, which never has the highest logit. Raises SpecError if the adapter has another base, or if one is unreadable.
    """
    require_libraries("torch", "transformers", "peft")
    lora = read_adapter(adapter)
    check_folder(base)
    digest = model_digests(base)["sha256"]
    if digest != lora.base_sha256:
        raise SpecError(
            f"'{adapter}' is an adapter of '{lora.base_name[:80]}' with the sha256 {lora.base_sha256[:12]}…; "
            f"'{base}' has the sha256 {digest[:12]}…: give the base that the adapter was trained on."
        )
    origin = {
        "base": {"name": lora.base_name, "sha256": digest},
        "adapter": {"name": adapter.resolve().name, "sha256": digest_of_adapter(lora)},
    }
    write_folder(target, lambda part: _write(base, lora, part, origin))
    return target


def ensure_merged_folder(adapter: Path) -> Path:
    """Return the folder of the model that is an adapter merged into its base. The first call merges them.

    The folder is in `models/merged` of LUMOS_HOME, and its name follows from the digests of both. Raises SpecError if
    the base is not on this machine, and as `merge_adapter` does.
    """
    lora = read_adapter(adapter)
    parts = (lora.base_sha256, digest_of_adapter(lora), digest_of_files([adapter / "tokenizer.json"]))
    target = models_folder() / MERGED / hashlib.sha256(" ".join(parts).encode()).hexdigest()[:32]
    if target.is_dir():
        return target
    return merge_adapter(find_base(lora), adapter, target)


def _write(base: Path, adapter: Adapter, target: Path, origin: dict[str, Any]) -> None:
    with import_libraries():
        import torch
        from peft import LoraConfig, PeftModel, get_peft_model_state_dict
        from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig
        from transformers.utils import logging

    logging.disable_progress_bar()
    auto: Any = AutoModelForSeq2SeqLM if encodes_prompts(base) else AutoModelForCausalLM
    options = _options(adapter, LoraConfig().to_dict())
    try:
        with MODEL_LOADING:
            tokenizer = AutoTokenizer.from_pretrained(adapter.folder, local_files_only=True)
            model = auto.from_pretrained(base, dtype=torch.float32, use_safetensors=True, local_files_only=True)
        _resize(model, len(tokenizer))
        with MODEL_LOADING, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # missing weights are an error below
            adapted_model: Any = PeftModel.from_pretrained(
                model, str(adapter.folder), config=LoraConfig(**options, inference_mode=True), torch_device="cpu"
            )
        _check_names(adapter, get_peft_model_state_dict(adapted_model, save_embedding_layers=False))
        model = adapted_model.merge_and_unload(safe_merge=True)
    except Exception as error:  # hostile folders can make these libraries raise any exception
        if isinstance(error, (MemoryError, SpecError)) or getattr(error, "errno", None):
            raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise SpecError(f"'{adapter.folder}' cannot be merged into '{base}': {reason[:300]}") from None
    _untie_if_different(model)
    model.generation_config = GenerationConfig(
        do_sample=False,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=getattr(model.config, "decoder_start_token_id", None),
    )
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        setattr(model.config, name, getattr(tokenizer, name))
    model.to(torch.bfloat16).save_pretrained(target)
    tokenizer.save_pretrained(target)
    write_made_from(target, origin)


def _options(adapter: Adapter, defaults: dict[str, Any]) -> dict[str, Any]:
    for name, value in adapter.config.items():
        if name not in _OPTIONS and name not in _IGNORED and value and value != defaults.get(name):
            raise SpecError(f"'{adapter.folder / CONFIG}' sets {name[:40]!r}, which cannot be merged here.")
    return {name: value for name in _OPTIONS if (value := adapter.config.get(name)) is not None}


def _check_names(adapter: Adapter, weight_names: Iterable[str]) -> None:
    """Raise SpecError unless the adapter's file has exactly the weights that its configuration requires."""
    with import_libraries("safetensors.safe_open"):
        from safetensors import safe_open

    with safe_open(adapter.folder / WEIGHTS, framework="pt") as file:
        stored_names = {name for name in file.keys() if ".lora_" in name}  # noqa: SIM118 - not a mapping
    if different := sorted(stored_names ^ {name for name in weight_names if ".lora_" in name}):
        raise SpecError(
            f"'{adapter.folder / WEIGHTS}' and {CONFIG} differ in {len(different)} weights, such as "
            f"'{different[0][:100]}': one of the two is from another adapter."
        )


def _resize(model: Any, size: int) -> None:
    with import_libraries("torch"):
        import torch

    before = model.get_input_embeddings().weight.shape[0]
    if size <= before:
        return
    model.resize_token_embeddings(size, mean_resizing=False)
    with torch.no_grad():
        for layer in (model.get_input_embeddings(), model.get_output_embeddings()):
            layer.weight[before:] = layer.weight[:before].mean(0)


def _untie_if_different(model: Any) -> None:
    """Make the model save its input and output embeddings separately if the base shares them and they now differ."""
    with import_libraries("torch"):
        import torch

    input_weight, output_weight = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    if model.config.tie_word_embeddings and not torch.equal(input_weight, output_weight):
        model.config.tie_word_embeddings = False
