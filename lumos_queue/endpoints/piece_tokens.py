"""Find the tokens of a piece of text that follows another piece.

A tokenizer may put a space in front of a text, or join two neighbouring pieces in one token. So the tokens of a piece
are the tokens of context and piece together, without the tokens of the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from lumos_queue.endpoints.tokenizer import Tokenizer
from lumos_queue.errors import SpecError

_NEUTRAL = ("\n", ",", "(")  #: contexts with which pieces rarely form one token


class PieceTokens:
    """The tokens of pieces for one tokenizer of Hugging Face. They are cached: few pieces make up all texts."""

    def __init__(self, tokenizer: Tokenizer):
        self._encode, self._decode, self._size = tokenizer.encode, tokenizer.decode, len(tokenizer)
        self._tokens: dict[tuple[str, str], tuple[int, ...]] = {}

    def find(self, context: str, piece: str) -> tuple[int, ...]:
        """Return the token ids of `piece` after `context`. Raises SpecError if no ids decode to the piece."""
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
        """Yield candidate ids of the piece: after the context, after other marks, and alone, if no token joins them."""
        for before in (context, *_NEUTRAL, ""):
            head, both = self._ids(before), self._ids(before + piece)
            if both[: len(head)] == head:
                yield tuple(both[len(head) :])

    def _ids(self, text: str) -> list[int]:
        return list(self._encode(text, add_special_tokens=False)) if text else []

    def _text(self, ids: list[int]) -> str:
        return self._decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False) if ids else ""


_OPEN: WeakKeyDictionary[Tokenizer, tuple[int, PieceTokens]] = WeakKeyDictionary()


def pieces_of(tokenizer: Tokenizer) -> PieceTokens:
    """Return the PieceTokens of a tokenizer, the same object as long as no token is added to the tokenizer."""
    size, pieces = _OPEN.get(tokenizer, (-1, None))
    if pieces is None or size != len(tokenizer):
        pieces = PieceTokens(tokenizer)
        _OPEN[tokenizer] = len(tokenizer), pieces
    return pieces
