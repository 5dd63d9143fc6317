"""Reads what is written in a picture: an answer to questions about writing alone."""

from __future__ import annotations

import numpy as np
from PIL import Image
from rapidocr_onnxruntime import RapidOCR  # pyright: ignore[reportMissingImports]

from lumos_queue.experts.backends.pixels import read_picture, read_text

_LEAST_SIDE = 512  #: pixels: small pictures are enlarged, as the detector was trained on documents


class ReadSign:
    def __init__(self) -> None:
        self.engine = RapidOCR(intra_op_num_threads=1)

    def run(self, *inputs: bytes) -> bytes:
        image, question = read_picture(inputs[0]), read_text(inputs[1]).lower()
        scale = max(1.0, _LEAST_SIDE / min(image.size))
        image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)
        found, _ = self.engine(np.asarray(image)[..., ::-1])
        read = [str(text) for _, text, _ in found or ()]
        if not read:
            return b""
        digits = "number" in question or "digits" in question
        fitting = [text for text in read if text.isdigit() is digits] or read
        return fitting[0].lower().encode()
