"""The interface of the tokenizers of local models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Tokenizer(Protocol):
    """The parts of Hugging Face's tokenizers that decoding uses. Its length is the number of tokens."""

    @property
    def eos_token_id(self) -> int | None: ...

    def __len__(self) -> int: ...

    def __hash__(self) -> int: ...

    def __call__(self, text: str, *, add_special_tokens: bool) -> Mapping[str, list[int]]: ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...

    def decode(
        self,
        token_ids: Sequence[int],
        *,
        skip_special_tokens: bool = ...,
        clean_up_tokenization_spaces: bool = ...,
    ) -> str: ...

    def batch_decode(self, sequences: Sequence[Sequence[int]]) -> list[str]: ...
