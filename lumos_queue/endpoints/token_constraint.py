"""Apply a constraint on texts to a model's tokens: find the allowed next tokens, and whether the reply may end.

    cursor = TokenConstraint(constraint, tokenizer, end).start()
    while not cursor.ended:
        cursor = cursor.advance(choose(cursor.allowed))

The probability of a reply is the product of the probabilities of its tokens, including the end token, among the allowed
tokens: log P = sum of logit[token] - logsumexp(logit[allowed]).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from lumos_queue.commands import Constraint
from lumos_queue.endpoints.piece_tokens import pieces_of
from lumos_queue.endpoints.tokenizer import Tokenizer
from lumos_queue.errors import SpecError

CONTEXT = 16  #: characters before a reply that affect the tokens of its first piece
MAX_CURSORS = 20_000  #: that are cached, about 30 MB; then the cache is emptied


class _Branch(NamedTuple):
    """A way to read the tokens so far, within a piece. A piece may be the start of another, so several are possible."""

    rest: tuple[int, ...]  #: the next tokens of the piece
    piece: str
    state: Hashable  #: of the constraint, after the piece


class Cursor:
    """The state after some tokens of a reply. There is one object for each state, which caches the next states."""

    __slots__ = ("_branches", "_constraint", "_next", "allowed", "ended")

    def __init__(
        self, constraint: TokenConstraint, branches: tuple[_Branch, ...], may_end: bool, has_ended: bool = False
    ):
        end: set[int] = {constraint.end} if may_end else set()
        #: ascending ids, with the end token where the reply may end; () after the end
        self.allowed: tuple[int, ...] = tuple(sorted({branch.rest[0] for branch in branches} | end))
        self.ended = has_ended
        self._constraint, self._branches = constraint, branches
        self._next: dict[int, Cursor | None] = dict.fromkeys(self.allowed)

    def advance(self, token: int) -> Cursor:
        """Return the cursor after a further token. Raises KeyError for a token that is not allowed."""
        cursor = self._next[token]
        if cursor is None:
            cursor = self._next[token] = self._constraint.follow(self._branches, token)
        return cursor


class TokenConstraint:
    """Applies `constraint` to the tokens of one tokenizer.

    `end`: id of the end token. `before`: the text before the reply: the prompt of a causal model, or '' for a separate
    decoder. The prompt should end in a line break or a special token: a space or mark at its end often forms one token
    with the reply's beginning, and then the tokens differ from those of prompt and reply tokenized together.
    Raises SpecError if the tokenizer cannot write a piece after the first text that leads to it; `advance` raises it if
    the piece cannot be written after another text.
    """

    def __init__(self, constraint: Constraint, tokenizer: Tokenizer, end: int, before: str = ""):
        self.end = end
        self._constraint, self._tokens = constraint, pieces_of(tokenizer)
        self._first = _Branch((), before[-CONTEXT:], constraint.start())
        self._cursors: dict[tuple[_Branch, ...], Cursor] = {}
        self._end_cursor = Cursor(self, (), False, True)
        self._check_pieces()

    def start(self) -> Cursor:
        return self._open((self._first,))

    def follow(self, branches: tuple[_Branch, ...], token: int) -> Cursor:
        """Return the cursor after `token`, which is the next token of some of these branches, or the end token."""
        if token == self.end:
            return self._end_cursor
        return self._open(
            tuple(branch._replace(rest=branch.rest[1:]) for branch in branches if branch.rest[0] == token)
        )

    def trace(self, text: str) -> list[tuple[int, tuple[int, ...]]]:
        """Return the tokens of an allowed reply, then the end token, each with the token ids allowed at its position.

        Raises ValueError for a text that is not allowed.
        """
        cursor = self.start()
        steps: list[tuple[int, tuple[int, ...]]] = []
        for token in (*self._spell(text), self.end):
            steps.append((token, cursor.allowed))
            cursor = cursor.advance(token)
        return steps

    def _spell(self, text: str) -> tuple[int, ...]:
        pending: list[tuple[int, _Branch]] = [(0, self._first)]  # here `rest` has all tokens so far
        while pending:
            position, (ids, context, state) = pending.pop()
            if position == len(text) and self._constraint.may_end(state):
                return ids
            for piece, after in self._constraint.pieces(state).items():
                if text.startswith(piece, position):
                    tokens = self._find_tokens(context, piece)
                    pending.append((position + len(piece), _Branch(ids + tokens, piece, after)))
        raise ValueError(f"not an allowed reply: {text[:80]!r}")

    def _open(self, branches: tuple[_Branch, ...]) -> Cursor:
        cursor = self._cursors.get(branches)
        if cursor is None:
            if len(self._cursors) >= MAX_CURSORS:
                self._cursors.clear()  # cursors in use keep references to the next ones
            cursor = self._cursors[branches] = self._make(branches)
        return cursor

    def _make(self, branches: tuple[_Branch, ...]) -> Cursor:
        open_branches: list[_Branch] = []
        may_end = False
        for branch in branches:
            if branch.rest:
                open_branches.append(branch)
                continue
            may_end = may_end or self._constraint.may_end(branch.state)
            for piece, after in self._constraint.pieces(branch.state).items():
                open_branches.append(_Branch(self._find_tokens(branch.piece, piece), piece, after))
        return Cursor(self, tuple(open_branches), may_end)

    def _find_tokens(self, context: str, piece: str) -> tuple[int, ...]:
        tokens = self._tokens.find(context, piece)
        if self.end in tokens:
            raise SpecError(
                f"The tokenizer cannot write {piece!r}: it is read as the end of a reply (token {self.end}); rename it."
            )
        return tokens

    def _check_pieces(self) -> None:
        """Raise SpecError if a piece cannot be written after the first text that leads to it."""
        pending, known_pieces = [(self._first.piece, self._first.state)], set[str]()
        while pending:
            context, state = pending.pop()
            for piece, after in self._constraint.pieces(state).items():
                if piece not in known_pieces:
                    known_pieces.add(piece)
                    self._find_tokens(context, piece)
                    pending.append((piece, after))
