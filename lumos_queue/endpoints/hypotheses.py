"""The forward passes of a search: the model reads the prompt once, and writes several replies in parallel.

A decoder has two methods. `begin` returns the logits of the first token, [1, vocabulary]. `extend` returns the logits
of the next token, [replies, vocabulary]: reply k is reply `parents[k]` of the previous call, followed by `tokens[k]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lumos_queue.endpoints.loaded_model import LoadedModel
from lumos_queue.endpoints.prefixes import PrefixCache
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    import torch


class Decoder(Protocol):
    """The forward passes for one prompt."""

    def begin(self) -> torch.Tensor: ...

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> torch.Tensor: ...


def open_decoder(loaded_model: LoadedModel, prompt: Sequence[int], prefixes: PrefixCache) -> Decoder:
    """Return a decoder for the prompt, of the class for the model's kind."""
    return EncodedPrompt(loaded_model, prompt) if loaded_model.encodes else CausalPrompt(loaded_model, prompt, prefixes)


class CausalPrompt:
    """The decoder of a causal model, whose reply continues the prompt."""

    def __init__(self, loaded_model: LoadedModel, prompt: Sequence[int], prefixes: PrefixCache):
        self._model = loaded_model.model
        self._prompt = list(prompt)
        self._prefixes = prefixes

    def begin(self) -> torch.Tensor:
        with import_libraries("torch", "transformers.DynamicCache"):
            import torch
            from transformers import DynamicCache

        self._cache: Any = DynamicCache()
        cached_count, layers = self._prefixes.find(self._prompt)
        for index, (keys, values) in enumerate(layers):
            self._cache.update(keys[None, :, :cached_count], values[None, :, :cached_count], index)
        logits = self._forward([self._prompt[cached_count:]])
        with torch.inference_mode():
            self._prefixes.add(self._prompt, [(layer.keys[0], layer.values[0]) for layer in self._cache.layers])
        return logits

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> torch.Tensor:
        _select_rows(self._cache, parents)
        return self._forward([[token] for token in tokens])

    def _forward(self, rows: list[list[int]]) -> torch.Tensor:
        with import_libraries("torch"):
            import torch

        with torch.inference_mode():
            output = self._model(torch.tensor(rows), cache=self._cache, use_cache=True, logits_to_keep=1)
        return output.logits[:, -1]


class EncodedPrompt:
    """The decoder of an encoder-decoder model. All replies share the encoder's output without copies."""

    def __init__(self, loaded_model: LoadedModel, prompt: Sequence[int]):
        self._model = loaded_model.model
        self._prompt = list(prompt)
        self._start = loaded_model.start

    def begin(self) -> torch.Tensor:
        with import_libraries("torch", "transformers.DynamicCache", "transformers.EncoderDecoderCache"):
            import torch
            from transformers import DynamicCache, EncoderDecoderCache

        self._cache: Any = EncoderDecoderCache(DynamicCache(), DynamicCache())
        with torch.inference_mode():
            self._encoder_states = self._model.get_encoder()(torch.tensor([self._prompt])).last_hidden_state
        return self._forward([self._start])

    def extend(self, parents: Sequence[int], tokens: Sequence[int]) -> torch.Tensor:
        _select_rows(self._cache.self_attention_cache, parents)
        for layer in self._cache.cross_attention_cache.layers:
            layer.keys, layer.values = (_repeat(part[:1], len(tokens)) for part in (layer.keys, layer.values))
        return self._forward(tokens)

    def _forward(self, tokens: Sequence[int]) -> torch.Tensor:
        with import_libraries("torch", "transformers.modeling_outputs.BaseModelOutput"):
            import torch
            from transformers.modeling_outputs import BaseModelOutput

        with torch.inference_mode():
            encoder_output: Any = BaseModelOutput(_repeat(self._encoder_states, len(tokens)))
            output = self._model(
                encoder_outputs=encoder_output,
                decoder_input_ids=torch.tensor([[token] for token in tokens]),
                cache=self._cache,
                use_cache=True,
            )
        return output.logits[:, -1]


def _repeat(tensor: torch.Tensor, rows: int) -> torch.Tensor:
    """Return a view of a tensor's only row, `rows` times."""
    return tensor.expand(rows, *tensor.shape[1:])


def _select_rows(cache: Any, rows: Sequence[int]) -> None:
    """Replace the rows of the cache by these of its rows, in that order."""
    with import_libraries("torch"):
        import torch

    index = torch.tensor(rows)
    for layer in cache.layers:
        if list(rows) != list(range(layer.keys.shape[0])):
            layer.keys, layer.values = layer.keys.index_select(0, index), layer.values.index_select(0, index)
