"""The tokens that a tokenizer writes a piece of text with, where it follows another piece.

A tokenizer may put a space in front of a text, or read two neighbouring pieces as one token: the tokens of a piece are
those of context and piece together, without those of the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from lumos_queue.errors import SpecError

_NEUTRAL = ("\n", ",", "(")  #: pieces are rarely read as one token with what precedes them here


class PieceTokens:
    """Of one tokenizer of Hugging Face; what was found is kept, for few pieces make up all texts."""

    def __init__(self, tokenizer: Any):
        self._encode, self._decode, self._size = tokenizer.encode, tokenizer.decode, len(tokenizer)
        self._tokens: dict[tuple[str, str], tuple[int, ...]] = {}

    def find(self, context: str, piece: str) -> tuple[int, ...]:
        """The ids for `piece` after `context`. Raises SpecError where none give back the piece when decoded."""
        tokens = self._tokens.get((context, piece))
        if tokens is None:
            tokens = self._tokens[context, piece] = self._search(context, piece)
        return tokens

    def _search(self, context: str, piece: str) -> tuple[int, ...]:
        head = self._ids(context)
        target = self._text(head) + piece
        for candidate in self._candidates(context, piece):
            if candidate and self._text([*head, *candidate]) == target:
                return candidate
        raise SpecError(
            f"The tokenizer cannot write {piece!r} after {context!r}: its {self._size:,} tokens do not give this text "
            "back; use a model whose tokenizer keeps letters, spaces and the marks '(', ')' and ','."
        )

    def _candidates(self, context: str, piece: str) -> Iterator[tuple[int, ...]]:
        """As in the context; else, where that reads them as one token, as after other marks, or alone."""
        for before in (context, *_NEUTRAL, ""):
            head, both = self._ids(before), self._ids(before + piece)
            if both[: len(head)] == head:
                yield tuple(both[len(head) :])

    def _ids(self, text: str) -> list[int]:
        return list(self._encode(text, add_special_tokens=False)) if text else []

    def _text(self, ids: list[int]) -> str:
        return self._decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False) if ids else ""


_OPEN: WeakKeyDictionary[Any, tuple[int, PieceTokens]] = WeakKeyDictionary()


def pieces_of(tokenizer: Any) -> PieceTokens:
    """The same for the same tokenizer, as long as no token is added to it."""
    size, pieces = _OPEN.get(tokenizer, (-1, None))
    if pieces is None or size != len(tokenizer):
        pieces = PieceTokens(tokenizer)
        _OPEN[tokenizer] = len(tokenizer), pieces
    return pieces
