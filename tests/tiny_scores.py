"""Tiny random encoders, pictures and texts: what scores are compared on with the libraries that define them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lumos_queue.experts.backends.pixels import from_pixels
from tests.tiny_experts import WORDS, save

TEXTS = ("the film is good .", "the film is dull . a story", "where was Anna born ?")
_SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
_IMAGES = {
    "image_processor_type": "CLIPImageProcessor",
    "size": {"shortest_edge": 16},
    "crop_size": {"height": 16, "width": 16},
}


def pictures() -> list[bytes]:
    """Three of 20 x 24 pixels; the second is the first with noise."""
    chance = np.random.RandomState(5)
    first, third = chance.rand(24, 20, 3), chance.rand(24, 20, 3) ** 3
    return [from_pixels(pixels) for pixels in (first, (first + 0.1 * chance.randn(24, 20, 3)).clip(0, 1), third)]


def make_clip(folder: Path) -> Path:
    import torch
    from transformers import CLIPConfig, CLIPModel, CLIPTextConfig, CLIPVisionConfig

    torch.manual_seed(1)
    text = CLIPTextConfig(vocab_size=len(WORDS), max_position_embeddings=24, eos_token_id=3, bos_token_id=2, **_SMALL)
    vision = CLIPVisionConfig(image_size=16, patch_size=8, **_SMALL)
    config = CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=8)
    return save(folder, CLIPModel(config), _IMAGES)


def make_vit(folder: Path) -> Path:
    import torch
    from transformers import ViTConfig, ViTModel

    torch.manual_seed(2)
    processor = {"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 16}}
    return save(folder, ViTModel(ViTConfig(image_size=16, patch_size=8, **_SMALL)), processor)


def make_bert(folder: Path) -> Path:
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(3)
    return save(folder, BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=64, **_SMALL)))
