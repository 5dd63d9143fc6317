"""Texts to a vector for each word, and to logits for each word."""

from __future__ import annotations

import torch
from torch import Tensor, nn

MAX_WORDS = 256
PAD = 0  #: the number of no word, which fills up a batch
_HEADS = 4


class WordEncoder(nn.Module):
    """Embeddings of words and places, a convolution over neighbours, and layers of a transformer."""

    def __init__(self, vocabulary: int, width: int, layers: int):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(MAX_WORDS, width)
        self.near = nn.Conv1d(width, width, 5, padding=2)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, _HEADS, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.words.weight, std=0.3)
        nn.init.normal_(self.places.weight, std=0.1)

    def forward(self, words: Tensor) -> Tensor:
        """(batch, length) of numbers of words → (batch, length, width)."""
        there = words != PAD
        embedded = self.words(words) + self.places(torch.arange(words.shape[1]))
        embedded = embedded * there[..., None]
        seen = embedded + torch.relu(self.near(embedded.transpose(1, 2)).transpose(1, 2))
        hidden = torch.zeros(words.shape).masked_fill(~there, -torch.inf)
        for layer in self.layers:
            seen = layer(seen, src_key_padding_mask=hidden)
        return self.norm(seen)


class WordTagger(nn.Module):
    """A few numbers for each word: of words that may stand there, of labels, or how much the word matters."""

    def __init__(self, vocabulary: int, width: int, layers: int, outputs: int):
        super().__init__()
        self.encoder = WordEncoder(vocabulary, width, layers)
        self.head = nn.Linear(width, outputs)

    def forward(self, words: Tensor) -> Tensor:
        """(batch, length) → (batch, length, outputs)."""
        return self.head(self.encoder(words))


class TextDrawer(nn.Module):
    """The mean of the words' vectors, grown into a picture of 64 x 64 by convolutions."""

    def __init__(self, vocabulary: int, width: int):
        super().__init__()
        self.encoder = WordEncoder(vocabulary, width, 1)
        self.canvas = nn.Linear(width, 32 * 8 * 8)
        self.grow = nn.Sequential(
            nn.ReLU(),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(32, 24, 3, padding=1),
            nn.ReLU(),
            nn.Upsample(scale_factor=2),
            nn.Conv2d(24, 3, 3, padding=1),
        )

    def forward(self, words: Tensor) -> Tensor:
        """(batch, length) → (batch, 3, 64, 64), about 0 to 1."""
        there = (words != PAD)[..., None]
        said = (self.encoder(words) * there).sum(dim=1) / there.sum(dim=1)
        return self.grow(self.canvas(said).view(-1, 32, 8, 8)) + 0.5
