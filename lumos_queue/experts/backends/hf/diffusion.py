"""Experts that draw with diffusers: Stable Diffusion, and InstructPix2Pix, which edits an image by an instruction."""

from __future__ import annotations

import hashlib
from typing import Any

import torch
from diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion import StableDiffusionPipeline
from diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion_instruct_pix2pix import (
    StableDiffusionInstructPix2PixPipeline,
)
from PIL import Image

from lumos_queue.experts.backends.pixels import read_picture, read_text, write_picture
from lumos_queue.util.model_loading import MODEL_LOADING

_MOST_SIDE = 768  #: limit of a side of an edited image, in pixels


class _Diffusion:
    pipeline: Any

    def __init__(self, folder: str):
        torch.set_num_threads(1)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        with MODEL_LOADING:
            pipeline = self.pipeline.from_pretrained(
                folder,
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=False,
                safety_checker=None,  # it replaces images that it finds offensive by black ones, which would be scored
                feature_extractor=None,
                requires_safety_checker=False,
            )
        self.made = pipeline.to(device)
        self.made.set_progress_bar_config(disable=True)

    def draw(self, text: str, **options: Any) -> bytes:
        """Return an image of the text, as PNG. The text determines the noise, so equal calls give the same image."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:6])
        image = self.made(text, generator=torch.Generator().manual_seed(seed), **options).images[0]
        return write_picture(image)


class DrawImage(_Diffusion):
    """Draws with the default steps, size and guidance of the pipeline, like the released code."""

    pipeline = StableDiffusionPipeline

    def run(self, *inputs: bytes) -> bytes:
        return self.draw(read_text(inputs[0]))


class EditImage(_Diffusion):
    pipeline = StableDiffusionInstructPix2PixPipeline

    def run(self, *inputs: bytes) -> bytes:
        return self.draw(read_text(inputs[1]), image=_fit(read_picture(inputs[0]), self.made.vae_scale_factor))


def _fit(image: Image.Image, step: int) -> Image.Image:
    """Return the image in a size that the model takes: both sides are multiples of `step`."""
    scale = min(1.0, _MOST_SIDE / max(image.size))
    width, height = (max(step, round(side * scale / step) * step) for side in image.size)
    return image if image.size == (width, height) else image.resize((width, height), Image.Resampling.LANCZOS)
