"""Loads a model of transformers from a folder, only from safetensors and without the folder's code."""

from __future__ import annotations

from typing import Any

import torch

from lumos_queue.util.model_loading import MODEL_LOADING


def load(auto: Any, folder: str) -> tuple[Any, str]:
    """Return the model and its device: a GPU if there is one."""
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with MODEL_LOADING:
        model = auto.from_pretrained(folder, use_safetensors=True, trust_remote_code=False, local_files_only=True)
    return model.eval().to(device), device
