"""Texts to texts: a transformer with an encoder and a decoder (Vaswani et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lumos_queue.experts.backends.own.networks.words import MAX_WORDS, PAD, WordEncoder

BEGIN, END = 1, 2  #: numbers of words
_HEADS = 4


class Translator(nn.Module):
    def __init__(self, vocabulary: int, target: int, width: int, layers: int):
        super().__init__()
        self.encoder = WordEncoder(vocabulary, width, layers)
        self.words = nn.Embedding(target, width)
        self.places = nn.Embedding(MAX_WORDS, width)
        self.layers = nn.ModuleList(
            nn.TransformerDecoderLayer(width, _HEADS, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, target)
        nn.init.normal_(self.words.weight, std=0.3)
        nn.init.normal_(self.places.weight, std=0.1)

    def forward(self, words: Tensor, written: Tensor) -> Tensor:
        """Logits (batch, written, target) of the word after each that is written."""
        return self.decode(self.encoder(words), words, written)

    def decode(self, memory: Tensor, words: Tensor, written: Tensor) -> Tensor:
        length = written.shape[1]
        later = torch.full((length, length), -torch.inf).triu(1)
        hidden = torch.zeros(words.shape).masked_fill(words == PAD, -torch.inf)
        seen = self.words(written) + self.places(torch.arange(length))
        for layer in self.layers:
            seen = layer(seen, memory, tgt_mask=later, memory_key_padding_mask=hidden)
        return self.head(self.norm(seen))

    @torch.inference_mode()
    def write(self, words: Tensor, most: int) -> list[int]:
        """The likeliest word after each, for one text (1, length), until it ends or has `most` words."""
        memory, made = self.encoder(words), [BEGIN]
        while len(made) <= most:
            best = int(self.decode(memory, words, torch.tensor([made]))[0, -1].argmax())
            if best == END:
                break
            made.append(best)
        return made[1:]
