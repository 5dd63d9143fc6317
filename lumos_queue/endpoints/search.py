"""The best replies to one prompt, with their log-probabilities: a beam search, or a reply drawn token by token.

log P(reply) is the sum over its tokens, the end token included, of the logit less the logsumexp of the logits that were
allowed there: renormalised over what is allowed, without a length penalty. Without a constraint every token is allowed.

A search is a generator that yields after each forward pass, so that the thread that holds the model does others'
passes in between.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from lumos_queue.commands import Constraint
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.drawing import draw_token
from lumos_queue.endpoints.hypotheses import open_decoder
from lumos_queue.endpoints.loaded_model import LoadedModel
from lumos_queue.endpoints.prefixes import PrefixCache
from lumos_queue.endpoints.stop_strings import StopStrings
from lumos_queue.endpoints.token_constraint import CONTEXT, Cursor, TokenConstraint
from lumos_queue.errors import EpisodeError, SpecError
from lumos_queue.records import Ending

MAX_CONSTRAINTS = 32  #: kept with what was found of them


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is asked for."""

    prompt: str
    sampling: Sampling
    seed: int
    constraint: Constraint | None = None
    n: int = 1

    def check(self) -> None:
        """Raises SpecError, in one line, for what contradicts itself."""
        beams, n = self.sampling.beams, self.n
        if beams and n > beams:
            raise SpecError(f"{n} candidates are asked of {beams} beams: ask for at most {beams}, or for more beams.")
        if self.sampling.temperature > 0 and (n > 1 or beams > 1):
            asked = f"{n} candidates" if n > 1 else f"{beams} beams"
            raise SpecError(f"{asked} are of a search, which needs temperature 0: leave out the temperature, or them.")


@dataclass(frozen=True, slots=True)
class FoundReply:
    """One reply that was found."""

    text: str
    logprob: float  #: nats
    tokens: int  #: the end token included
    truncated: bool  #: whether the limit of tokens ended it


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search."""

    replies: tuple[FoundReply, ...]  #: best first, at least one
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """A reply, or the beginning of one."""

    tokens: tuple[int, ...] = ()
    logprob: float = 0.0
    row: int = 0  #: of the forward pass that gave its last token
    cursor: Cursor | None = None  #: where it is in what is allowed; None: anything is
    ended: bool = False
    truncated: bool = False

    @property
    def rank(self) -> tuple[float, tuple[int, ...]]:
        """The best hypothesis has the least one; of equal log-probabilities that of the smaller tokens."""
        return -self.logprob, self.tokens


class ConstraintCache:
    """The constraints asked with last, each as one on tokens: tasks of one kind share one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], TokenConstraint] = {}

    def find(self, constraint: Constraint, loaded: LoadedModel, prompt: str) -> TokenConstraint:
        """That of a reply to the prompt. Raises SpecError where the tokenizer cannot write it."""
        before = "" if loaded.encodes else prompt[-CONTEXT:]
        key = constraint.digest, before
        found = self._known.pop(key, None)
        if found is None:
            found = TokenConstraint(constraint, loaded.tokenizer, loaded.end, before)
        self._known[key] = found
        if len(self._known) > MAX_CONSTRAINTS:
            del self._known[next(iter(self._known))]
        return found


class ReplySearch:
    """The search for one request."""

    def __init__(
        self,
        request: SearchRequest,
        loaded: LoadedModel,
        stops: StopStrings,
        prefixes: PrefixCache,
        constraints: ConstraintCache,
    ):
        self._request, self._loaded, self._stops = request, loaded, stops
        self._prefixes, self._constraints = prefixes, constraints
        self._random = random.Random(request.seed)
        self._width = max(request.sampling.beams, request.n)

    def run(self) -> Generator[None, None, SearchResult]:
        """Raises EpisodeError where the context, or the limit of tokens, leaves no room for a reply; SpecError for a
        constraint that the tokenizer cannot write."""
        request, loaded = self._request, self._loaded
        prompt = loaded.tokenize(request.prompt, request.sampling.bos)
        left = loaded.context - (0 if loaded.encodes else len(prompt))
        if not 0 < len(prompt) <= loaded.context or left <= 0:
            problem = f"a prompt of {len(prompt)} tokens and a context of {loaded.context} leave no reply"
            raise EpisodeError(Ending.LIMIT, problem)
        limit = min(left, request.sampling.max_tokens)
        cursor = None
        if request.constraint is not None:
            cursor = self._constraints.find(request.constraint, loaded, request.prompt).start()
        decoder = open_decoder(loaded, prompt, self._prefixes)
        logits = decoder.begin()
        best = [_Hypothesis(cursor=cursor)]
        while True:
            best = self._follow(best, logits, limit)
            live = [one for one in best if not one.ended]
            yield
            if not live:
                break
            logits = decoder.extend([one.row for one in live], [one.tokens[-1] for one in live])
        if not best:
            raise EpisodeError(Ending.LIMIT, f"no allowed reply fits into the limit of {limit} tokens")
        return SearchResult(tuple(map(self._write, best[: request.n])), len(prompt))

    def _follow(self, best: list[_Hypothesis], logits: Any, limit: int) -> list[_Hypothesis]:
        """The best hypotheses after one more token for each live one. Those that ended compete by their sums alone.

        None outside of the best can come back among them: log-probabilities only fall.
        """
        found = [one for one in best if one.ended]
        live = [one for one in best if not one.ended]
        for row, one in enumerate(live):
            for token, logprob in self._options(one, logits[row]):
                found.append(_Hypothesis((*one.tokens, token), one.logprob + logprob, row, one.cursor))
        found.sort(key=lambda one: one.rank)
        kept = (one if one.ended else self._settle(one, limit) for one in found[: self._width])
        return [one for one in kept if one is not None]

    def _options(self, one: _Hypothesis, logits: Any) -> Iterator[tuple[int, float]]:
        """The tokens that may follow and be among the best, with their log-probabilities.

        `logits`: [vocabulary]. Where replies are drawn, the one token that was.
        """
        import torch

        sampling = self._request.sampling
        allowed = None if one.cursor is None else torch.tensor(one.cursor.allowed)
        known = (logits if allowed is None else logits[allowed]).double()
        logprobs = known.log_softmax(-1)
        if sampling.temperature > 0:
            places = torch.tensor([draw_token(known, sampling.temperature, sampling.top_p, self._random.random())])
        elif len(known) > self._width:
            # All that equal the last of the best, too: which of them topk gives is not fixed.
            places = (logprobs >= logprobs.topk(self._width).values[-1]).nonzero()[:, 0]
        else:
            places = torch.arange(len(known))
        tokens = places if allowed is None else allowed[places]
        yield from zip(tokens.tolist(), logprobs[places].tolist(), strict=True)

    def _settle(self, one: _Hypothesis, limit: int) -> _Hypothesis | None:
        """The hypothesis with what its last token means; None where it can be no allowed reply any more."""
        token = one.tokens[-1]
        full = len(one.tokens) >= limit
        if one.cursor is not None:
            cursor = one.cursor.advance(token)
            if full and not cursor.ended:
                return None
            return _Hypothesis(one.tokens, one.logprob, one.row, cursor, cursor.ended)
        stopped = token in self._loaded.ends or self._stops.end_reply(one.tokens, self._request.sampling)
        return _Hypothesis(one.tokens, one.logprob, one.row, None, stopped or full, full and not stopped)

    def _write(self, one: _Hypothesis) -> FoundReply:
        """Raises SpecError where the tokenizer does not give back the text that its tokens were made of."""
        text = self._loaded.tokenizer.decode(list(one.tokens), skip_special_tokens=True)
        constraint = self._request.constraint
        if constraint is not None and not constraint.accepts(text):
            text = text.strip()
            if not constraint.accepts(text):
                raise SpecError(f"the tokenizer writes an allowed reply as '{text[:80]}', which is not allowed")
        return FoundReply(text, one.logprob, len(one.tokens), one.truncated)
