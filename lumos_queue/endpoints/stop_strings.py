"""Find stop strings at the end of a reply's tokens."""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.replies import SEPARATES_REASONING, read_text
from lumos_queue.endpoints.tokenizer import Tokenizer


class StopStrings:
    """Finds stop strings in tokens of one tokenizer. For each set of strings, caches the tokens that contain one."""

    def __init__(self, tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self._tokens: dict[tuple[str, ...], frozenset[int]] = {}

    def end(self, tokens: Sequence[int], stops: tuple[str, ...]) -> bool:
        """Whether the last of a reply's tokens completes a stop string. Must be called after each token."""
        if stops not in self._tokens:
            pieces = self._tokenizer.batch_decode([[token] for token in range(len(self._tokenizer))])
            stop_tokens = (token for token, piece in enumerate(pieces) if any(stop and stop in piece for stop in stops))
            self._tokens[stops] = frozenset(stop_tokens)
        if tokens[-1] in self._tokens[stops]:
            return True
        longest = max(map(len, stops), default=0)
        if longest < 2:
            return False
        # A token has at least one byte, so these tokens contain any stop string that ends in the last one.
        tail = self._tokenizer.decode(tokens[-4 * longest :])
        return any(stop and stop in tail for stop in stops)

    def end_reply(self, tokens: Sequence[int], sampling: Sampling) -> bool:
        """Whether the last of a reply's tokens completes a stop string that ends it.

        A stop string within reasoning, or in the white space in front of the reply, does not end it.
        """
        if not self.end(tokens, sampling.stop):
            return False
        if sampling.rules < SEPARATES_REASONING:
            return True
        return read_text(self._tokenizer.decode(tokens, skip_special_tokens=True), sampling.stop).has_stopped
