"""A network from texts to texts: a transformer with an encoder and a decoder (Vaswani et al. 2017)."""

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

    def forward(self, words: Tensor, prefix: Tensor) -> Tensor:
        """Return the logits of the word after each word of the prefix: (batch, prefix, target)."""
        return self.decode(self.encoder(words), words, prefix)

    def decode(self, memory: Tensor, words: Tensor, prefix: Tensor) -> Tensor:
        length = prefix.shape[1]
        later = torch.full((length, length), -torch.inf).triu(1)
        padding_mask = torch.zeros(words.shape).masked_fill(words == PAD, -torch.inf)
        vectors = self.words(prefix) + self.places(torch.arange(length))
        for layer in self.layers:
            vectors = layer(vectors, memory, tgt_mask=later, memory_key_padding_mask=padding_mask)
        return self.head(self.norm(vectors))

    @torch.inference_mode()
    def write(self, words: Tensor, max_words: int) -> list[int]:
        """Write the likeliest word after each word, for one text (1, length), up to its end or `max_words` words."""
        memory, output = self.encoder(words), [BEGIN]
        while len(output) <= max_words:
            best = int(self.decode(memory, words, torch.tensor([output]))[0, -1].argmax())
            if best == END:
                break
            output.append(best)
        return output[1:]
