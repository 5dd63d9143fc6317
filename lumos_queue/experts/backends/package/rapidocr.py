"""Answer questions about the text in a picture. Every answer is a text from the picture."""

from __future__ import annotations

import numpy as np
from PIL import Image
from rapidocr_onnxruntime import RapidOCR  # pyright: ignore[reportMissingImports]

from lumos_queue.experts.backends.pixels import read_picture, read_text

_LEAST_SIDE = 512  #: pixels; smaller pictures are enlarged, because the detector was trained on documents


class ReadSign:
    def __init__(self) -> None:
        self.engine = RapidOCR(intra_op_num_threads=1)

    def run(self, *inputs: bytes) -> bytes:
        image, question = read_picture(inputs[0]), read_text(inputs[1]).lower()
        scale = max(1.0, _LEAST_SIDE / min(image.size))
        image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)
        detections, _ = self.engine(np.asarray(image)[..., ::-1])
        texts = [str(text) for _, text, _ in detections or ()]
        if not texts:
            return b""
        digits = "number" in question or "digits" in question
        candidates = [text for text in texts if text.isdigit() is digits] or texts
        return candidates[0].lower().encode()
