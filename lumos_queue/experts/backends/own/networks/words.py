"""Networks from texts to vectors or logits for each word, and to pictures."""

from __future__ import annotations

import torch
from torch import Tensor, nn

MAX_WORDS = 256
PAD = 0  #: the number that fills texts of a batch up to the same length
_HEADS = 4


class WordEncoder(nn.Module):
    """Embeddings of words and positions, a convolution over neighbours, and layers of a transformer."""

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
        """(batch, length) of word numbers → (batch, length, width)."""
        is_word = words != PAD
        embeddings = self.words(words) + self.places(torch.arange(words.shape[1]))
        embeddings = embeddings * is_word[..., None]
        vectors = embeddings + torch.relu(self.near(embeddings.transpose(1, 2)).transpose(1, 2))
        padding_mask = torch.zeros(words.shape).masked_fill(~is_word, -torch.inf)
        for layer in self.layers:
            vectors = layer(vectors, src_key_padding_mask=padding_mask)
        return self.norm(vectors)


class WordTagger(nn.Module):
    """Outputs for each word: logits of words or labels for its position, or its importance."""

    def __init__(self, vocabulary: int, width: int, layers: int, outputs: int):
        super().__init__()
        self.encoder = WordEncoder(vocabulary, width, layers)
        self.head = nn.Linear(width, outputs)

    def forward(self, words: Tensor) -> Tensor:
        """(batch, length) → (batch, length, outputs)."""
        return self.head(self.encoder(words))


class TextDrawer(nn.Module):
    """Convolutions that make a picture of 64 x 64 from the mean of the words' vectors."""

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
        is_word = (words != PAD)[..., None]
        mean_vector = (self.encoder(words) * is_word).sum(dim=1) / is_word.sum(dim=1)
        return self.grow(self.canvas(mean_vector).view(-1, 32, 8, 8)) + 0.5
