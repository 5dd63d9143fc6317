"""A constraint on texts as one on the tokens of a model: which may come next, and whether the reply may end.

    cursor = TokenConstraint(constraint, tokenizer, end).start()
    while not cursor.ended:
        cursor = cursor.advance(choose(cursor.allowed))

The probability of a reply is the product of those of its tokens, each among those that were allowed, the end included:
log P = sum of logit[token] - logsumexp(logit[allowed]).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from lumos_queue.commands import Constraint
from lumos_queue.endpoints.piece_tokens import pieces_of
from lumos_queue.errors import SpecError

CONTEXT = 16  #: characters of what a reply follows that decide how its first piece is written
MAX_CURSORS = 20_000  #: that are kept, about 30 MB; then they are made anew


class _Place(NamedTuple):
    """Within a piece: one way to read the tokens so far. A piece may begin another, so there can be several."""

    rest: tuple[int, ...]  #: tokens of the piece that are still to come
    piece: str
    state: Hashable  #: of the constraint, after the piece


class Cursor:
    """After some tokens of a reply. Equal places are the same object, so what was found once is found at once."""

    __slots__ = ("_constraint", "_next", "_places", "allowed", "ended")

    def __init__(self, constraint: TokenConstraint, places: tuple[_Place, ...], may_end: bool, ended: bool = False):
        end = {constraint.end} if may_end else set()
        #: ascending ids; the end token is among them where the reply may end; () once it has
        self.allowed: tuple[int, ...] = tuple(sorted({one.rest[0] for one in places} | end))
        self.ended = ended
        self._constraint, self._places = constraint, places
        self._next: dict[int, Cursor | None] = dict.fromkeys(self.allowed)

    def advance(self, token: int) -> Cursor:
        """Where the token leads. Raises KeyError for one that is not allowed."""
        found = self._next[token]
        if found is None:
            found = self._next[token] = self._constraint.follow(self._places, token)
        return found


class TokenConstraint:
    """`constraint` for one tokenizer.

    `end`: id of the end token. `before`: what the reply follows directly: the prompt of a causal model, which should
    end in a line break or a token of its own (a space or mark there is often read as one with the reply's beginning,
    and then the tokens are others than those of prompt and reply read together); '' for a decoder of its own.
    Raises SpecError where the tokenizer cannot write a piece; one that comes only after rarer ones is found by
    `advance`.
    """

    def __init__(self, constraint: Constraint, tokenizer: Any, end: int, before: str = ""):
        self.end = end
        self._constraint, self._tokens = constraint, pieces_of(tokenizer)
        self._first = _Place((), before[-CONTEXT:], constraint.start())
        self._cursors: dict[tuple[_Place, ...], Cursor] = {}
        self._ended = Cursor(self, (), False, True)
        self._check_pieces()

    def start(self) -> Cursor:
        return self._open((self._first,))

    def follow(self, places: tuple[_Place, ...], token: int) -> Cursor:
        """The cursor after a token that one of these goes on with, or after the end token."""
        if token == self.end:
            return self._ended
        return self._open(tuple(one._replace(rest=one.rest[1:]) for one in places if one.rest[0] == token))

    def trace(self, text: str) -> list[tuple[int, tuple[int, ...]]]:
        """The tokens of an allowed reply, the end token last, each with the ids that were allowed there.

        Raises ValueError for a text that is not allowed.
        """
        cursor, traced = self.start(), []
        for token in (*self._spell(text), self.end):
            traced.append((token, cursor.allowed))
            cursor = cursor.advance(token)
        return traced

    def _spell(self, text: str) -> tuple[int, ...]:
        waiting: list[tuple[int, _Place]] = [(0, self._first)]  # `rest`: all tokens so far
        while waiting:
            at, (ids, context, state) = waiting.pop()
            if at == len(text) and self._constraint.may_end(state):
                return ids
            for piece, after in self._constraint.pieces(state).items():
                if text.startswith(piece, at):
                    more = self._find_tokens(context, piece)
                    waiting.append((at + len(piece), _Place(ids + more, piece, after)))
        raise ValueError(f"not an allowed reply: {text[:80]!r}")

    def _open(self, places: tuple[_Place, ...]) -> Cursor:
        found = self._cursors.get(places)
        if found is None:
            if len(self._cursors) >= MAX_CURSORS:
                self._cursors.clear()  # those in use keep what they lead to
            found = self._cursors[places] = self._make(places)
        return found

    def _make(self, places: tuple[_Place, ...]) -> Cursor:
        opened, may_end = [], False
        for one in places:
            if one.rest:
                opened.append(one)
                continue
            may_end = may_end or self._constraint.may_end(one.state)
            for piece, after in self._constraint.pieces(one.state).items():
                opened.append(_Place(self._find_tokens(one.piece, piece), piece, after))
        return Cursor(self, tuple(opened), may_end)

    def _find_tokens(self, context: str, piece: str) -> tuple[int, ...]:
        found = self._tokens.find(context, piece)
        if self.end in found:
            raise SpecError(
                f"The tokenizer cannot write {piece!r}: it is read as the end of a reply (token {self.end}); rename it."
            )
        return found

    def _check_pieces(self) -> None:
        """Raise SpecError where a piece cannot be written: each is tried where a walk meets it first."""
        waiting, met = [(self._first.piece, self._first.state)], set[str]()
        while waiting:
            context, state = waiting.pop()
            for piece, after in self._constraint.pieces(state).items():
                if piece not in met:
                    met.add(piece)
                    self._find_tokens(context, piece)
                    waiting.append((piece, after))
