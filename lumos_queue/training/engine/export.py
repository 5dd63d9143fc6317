"""Export the model of a fit as a model folder, which an endpoint can load, or as an adapter."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file, save_file
from transformers import GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging

from lumos_queue.endpoints.model_folder import identity
from lumos_queue.records import TrainedModel
from lumos_queue.training.engine.checkpoints import read_seal
from lumos_queue.training.engine.model import auto_class, is_encoder_decoder, load_tokenizer
from lumos_queue.training.engine.spec import FitSpec
from lumos_queue.util.model_loading import MODEL_LOADING
from lumos_queue.util.regular_file import read_regular_text

MADE_FROM = "made-from.json"
ADAPTER_CONFIG, ADAPTER = "adapter_config.json", "adapter_model.safetensors"


def export_fit(spec: FitSpec, checkpoint: Path, step: int, folder: Path, origin: dict[str, Any]) -> TrainedModel:
    """Write the model of a checkpoint, which is of `step`, into `folder`. Raises SpecError when it is damaged.

    `origin` is JSON that describes the source of the model; the facts of the fit are added to it.
    """
    read_seal(checkpoint)
    base = identity(Path(spec.base))["sha256"] if spec.base else ""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write = _write_adapter if spec.lora else _write_model
    write(spec, checkpoint, folder)
    files = sorted(folder.glob("*.safetensors"))
    values = {name: value for name, value in spec.as_json().items() if name not in ("data", "tokenizer", "base")}
    base_facts = {"name": origin.get("base", ""), "sha256": base}
    (folder / MADE_FROM).write_text(
        json.dumps(origin | {"base": base_facts, "step": step, "fit": values}, indent=1) + "\n"
    )
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return TrainedModel(
        name=folder.name,
        path=str(folder),
        kind="adapter" if spec.lora else "full",
        digest=digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest(),
        bytes=sum(file.stat().st_size for file in files),
        base=base,
        builds=(),
    )


def save_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write a folder that `AutoModelForCausalLM` (for T5 `…ForSeq2SeqLM`), `AutoTokenizer` and LUMOS endpoints load.

    Weights on disk are bfloat16, which needs half the space of float32. This converts `model` itself to bfloat16.
    """
    logging.disable_progress_bar()
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    if is_encoder_decoder(model):
        ids["decoder_start_token_id"] = model.config.decoder_start_token_id
    model.generation_config = GenerationConfig(**ids, do_sample=False, max_new_tokens=512)
    cast(Any, model).to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for file in folder.glob("*.safetensors"):
        file.chmod(0o644)  # safetensors files are readable by their owner only, but every worker reads the model


def _write_model(spec: FitSpec, checkpoint: Path, folder: Path) -> None:
    with MODEL_LOADING:
        model = auto_class(checkpoint).from_pretrained(checkpoint, local_files_only=True, use_safetensors=True)
    save_model(model, load_tokenizer(spec.tokenizer), folder)


def _write_adapter(spec: FitSpec, checkpoint: Path, folder: Path) -> None:
    load_tokenizer(spec.tokenizer).save_pretrained(folder)
    tensors = {name: value.to(torch.bfloat16) for name, value in load_file(checkpoint / ADAPTER).items()}
    save_file(tensors, folder / ADAPTER, metadata={"format": "pt"})  # half the size, the range of float32
    (folder / ADAPTER).chmod(0o644)
    config = json.loads(read_regular_text(checkpoint / ADAPTER_CONFIG, checkpoint))
    config["base_model_name_or_path"] = None  # made-from.json names the base; folders of this machine stay private
    config["target_modules"] = sorted(config["target_modules"])
    (folder / ADAPTER_CONFIG).write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
