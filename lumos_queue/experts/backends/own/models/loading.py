"""Loads a network from the folder that `lumos train experts` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors.torch import load_file
from torch import nn

from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.own.config import CONFIG, WEIGHTS
from lumos_queue.util.regular_file import read_regular

Network = TypeVar("Network", bound=nn.Module)


def load_network(kind: type[Network], folder: str) -> tuple[Network, dict[str, Any]]:
    """Return the network in evaluation mode, and its vocabulary. Raises SpecError for weights of another shape."""
    config = json.loads(read_regular(Path(folder) / CONFIG, Path(folder)))
    try:
        network = kind(**config["shape"])
        network.load_state_dict(load_file(Path(folder) / WEIGHTS))
    except (RuntimeError, TypeError, OSError) as error:
        first = str(error).strip().split("\n")[0]
        raise SpecError(f"the weights in '{folder}' are not those of its {CONFIG}: {first}") from None
    torch.set_num_threads(1)
    return network.eval(), config["vocabulary"]
