"""Find the best replies to a prompt, with log-probabilities, by beam search; or sample a reply token by token.

log P(reply) is a sum over the reply's tokens, including the end token: the token's logit minus the logsumexp of the
allowed logits at that position. So it is normalised over allowed tokens and has no length penalty. Without a constraint
all tokens are allowed.

A search is a generator that yields after each forward pass, so that the model's thread can run other passes in between.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lumos_queue.commands import Constraint
from lumos_queue.endpoints.base import ModelCall
from lumos_queue.endpoints.drawing import sample_token
from lumos_queue.endpoints.hypotheses import open_decoder
from lumos_queue.endpoints.loaded_model import LoadedModel
from lumos_queue.endpoints.prefixes import PrefixCache
from lumos_queue.endpoints.stop_strings import StopStrings
from lumos_queue.endpoints.token_constraint import CONTEXT, Cursor, TokenConstraint
from lumos_queue.errors import EpisodeError, SpecError
from lumos_queue.records import Ending
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    import torch

MAX_CONSTRAINTS = 32  #: that are cached with their tokens


def check_search(call: ModelCall) -> None:
    """Raise SpecError if settings contradict each other: more candidates than beams, or both with a temperature."""
    beams, candidates = call.sampling.beams, call.candidates
    if beams and candidates > beams:
        raise SpecError(
            f"{candidates} candidates are asked of {beams} beams: ask for at most {beams}, or for more beams."
        )
    if call.sampling.temperature > 0 and (candidates > 1 or beams > 1):
        subject = f"{candidates} candidates" if candidates > 1 else f"{beams} beams"
        raise SpecError(f"{subject} are of a search, which needs temperature 0: leave out the temperature, or them.")


@dataclass(frozen=True, slots=True)
class SearchReply:
    """One reply of a search."""

    text: str
    logprob: float  #: nats
    tokens: int  #: the end token included
    truncated: bool  #: whether the limit of tokens ended it


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search."""

    replies: tuple[SearchReply, ...]  #: best first, at least one
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """A reply, or the beginning of a reply."""

    tokens: tuple[int, ...] = ()
    logprob: float = 0.0
    row: int = 0  #: of the forward pass that chose its last token
    cursor: Cursor | None = None  #: its state in the constraint; None: without a constraint
    ended: bool = False
    truncated: bool = False

    @property
    def rank(self) -> tuple[float, tuple[int, ...]]:
        """The sort key: higher log-probabilities are first; if they are equal, smaller token ids are first."""
        return -self.logprob, self.tokens


class ConstraintCache:
    """The most recently used constraints as constraints on tokens. Tasks of one kind share a constraint."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[str, str], TokenConstraint] = {}

    def find(self, constraint: Constraint, loaded_model: LoadedModel, prompt: str) -> TokenConstraint:
        """Return the constraint on the tokens of a reply to `prompt`. Raises SpecError if it cannot be written."""
        before = "" if loaded_model.encodes else prompt[-CONTEXT:]
        key = constraint.digest, before
        token_constraint = self._by_key.pop(key, None)
        if token_constraint is None:
            token_constraint = TokenConstraint(constraint, loaded_model.tokenizer, loaded_model.end, before)
        self._by_key[key] = token_constraint
        if len(self._by_key) > MAX_CONSTRAINTS:
            del self._by_key[next(iter(self._by_key))]
        return token_constraint


class ReplySearch:
    """The search for the replies to one call."""

    def __init__(
        self,
        call: ModelCall,
        loaded_model: LoadedModel,
        stops: StopStrings,
        prefixes: PrefixCache,
        constraints: ConstraintCache,
    ):
        self._call, self._loaded_model, self._stops = call, loaded_model, stops
        self._prefixes, self._constraints = prefixes, constraints
        self._random = random.Random(call.seed)
        self._width = max(call.sampling.beams, call.candidates)

    def run(self) -> Generator[None, None, SearchResult]:
        """Search for the replies and return them. Yield after each forward pass.

        Raises EpisodeError if the context or the limit of tokens leaves no room for a reply, and SpecError for a
        constraint that the tokenizer cannot write.
        """
        call, loaded_model = self._call, self._loaded_model
        prompt = loaded_model.tokenize(call.prompt, call.sampling.bos)
        room = loaded_model.context - (0 if loaded_model.encodes else len(prompt))
        if not 0 < len(prompt) <= loaded_model.context or room <= 0:
            problem = f"a prompt of {len(prompt)} tokens and a context of {loaded_model.context} leave no reply"
            raise EpisodeError(Ending.LIMIT, problem)
        limit = min(room, call.sampling.max_tokens)
        cursor = None
        if call.constraint is not None:
            cursor = self._constraints.find(call.constraint, loaded_model, call.prompt).start()
        decoder = open_decoder(loaded_model, prompt, self._prefixes)
        logits = decoder.begin()
        best = [_Hypothesis(cursor=cursor)]
        while True:
            best = self._follow(best, logits, limit)
            live = [hypothesis for hypothesis in best if not hypothesis.ended]
            yield
            if not live:
                break
            logits = decoder.extend(
                [hypothesis.row for hypothesis in live], [hypothesis.tokens[-1] for hypothesis in live]
            )
        if not best:
            raise EpisodeError(Ending.LIMIT, f"no allowed reply fits into the limit of {limit} tokens")
        return SearchResult(tuple(map(self._write, best[: call.candidates])), len(prompt))

    def _follow(self, best: list[_Hypothesis], logits: torch.Tensor, limit: int) -> list[_Hypothesis]:
        """Return the best hypotheses after adding a token to each that has not ended. Ended hypotheses compete, too.

        A hypothesis that is dropped could never be among the best again, because log-probabilities only fall.
        """
        candidates = [hypothesis for hypothesis in best if hypothesis.ended]
        live = [hypothesis for hypothesis in best if not hypothesis.ended]
        for row, hypothesis in enumerate(live):
            for token, logprob in self._options(hypothesis, logits[row]):
                candidates.append(
                    _Hypothesis((*hypothesis.tokens, token), hypothesis.logprob + logprob, row, hypothesis.cursor)
                )
        candidates.sort(key=lambda hypothesis: hypothesis.rank)
        settled_hypotheses = (
            hypothesis if hypothesis.ended else self._settle(hypothesis, limit)
            for hypothesis in candidates[: self._width]
        )
        return [hypothesis for hypothesis in settled_hypotheses if hypothesis is not None]

    def _options(self, hypothesis: _Hypothesis, logits: Any) -> Iterator[tuple[int, float]]:
        """Yield the allowed next tokens that can be among the best, with their log-probabilities.

        `logits`: [vocabulary]. With a temperature, yields a single sampled token.
        """
        with import_libraries("torch"):
            import torch

        sampling = self._call.sampling
        allowed_tokens = None if hypothesis.cursor is None else torch.tensor(hypothesis.cursor.allowed)
        allowed_logits = (logits if allowed_tokens is None else logits[allowed_tokens]).double()
        logprobs = allowed_logits.log_softmax(-1)
        if sampling.temperature > 0:
            positions = torch.tensor(
                [sample_token(allowed_logits, sampling.temperature, sampling.top_p, self._random.random())]
            )
        elif len(allowed_logits) > self._width:
            # Also all that equal the last of the best: topk does not define which of them it returns.
            positions = (logprobs >= logprobs.topk(self._width).values[-1]).nonzero()[:, 0]
        else:
            positions = torch.arange(len(allowed_logits))
        tokens: Any = positions if allowed_tokens is None else allowed_tokens[positions]
        yield from zip(tokens.tolist(), logprobs[positions].tolist(), strict=True)

    def _settle(self, hypothesis: _Hypothesis, limit: int) -> _Hypothesis | None:
        """Return the hypothesis with its state after its last token, or None if it cannot become an allowed reply."""
        token = hypothesis.tokens[-1]
        is_full = len(hypothesis.tokens) >= limit
        if hypothesis.cursor is not None:
            cursor = hypothesis.cursor.advance(token)
            if is_full and not cursor.ended:
                return None
            return _Hypothesis(hypothesis.tokens, hypothesis.logprob, hypothesis.row, cursor, cursor.ended)
        has_stopped = token in self._loaded_model.ends or self._stops.end_reply(hypothesis.tokens, self._call.sampling)
        return _Hypothesis(
            hypothesis.tokens,
            hypothesis.logprob,
            hypothesis.row,
            None,
            has_stopped or is_full,
            is_full and not has_stopped,
        )

    def _write(self, hypothesis: _Hypothesis) -> SearchReply:
        """Return a hypothesis as a reply. Raises SpecError if its tokens do not decode to an allowed text."""
        text = self._loaded_model.tokenizer.decode(list(hypothesis.tokens), skip_special_tokens=True)
        constraint = self._call.constraint
        if constraint is not None and not constraint.accepts(text):
            text = text.strip()
            if not constraint.accepts(text):
                raise SpecError(f"the tokenizer writes an allowed reply as '{text[:80]}', which is not allowed")
        return SearchReply(text, hypothesis.logprob, len(hypothesis.tokens), hypothesis.truncated)
