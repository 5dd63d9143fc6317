"""Score replies by a policy: log-probabilities with gradients, entropy, and the divergence from another policy.

log P(reply | prompt) is the sum, over the reply's tokens and the end token, of the log softmax over the tokens that are
allowed there; the released code leaves out the end token. Without a constraint, the whole vocabulary is allowed. There
is no length penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lumos_queue.endpoints.token_constraint import TokenConstraint
from lumos_queue.errors import SpecError
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.training.rltf.rollouts import RolloutAsk


@dataclass(frozen=True, slots=True)
class EncodedAsk:
    """One model call as token ids."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    allowed: tuple[tuple[int, ...], ...] | None  #: at each token of the reply; None: all tokens
    has_end: bool = False  #: whether the last token of the reply is the end token


@dataclass(frozen=True, slots=True)
class ReplyScore:
    """The score of one reply; each field is a scalar in nats."""

    logprob: torch.Tensor
    logprob_without_end: torch.Tensor
    entropy: torch.Tensor  #: sum over the tokens of the reply
    kl: torch.Tensor  #: KL(policy || reference), sum over the same tokens; 0 without a reference


class AskEncoder:
    """Encodes calls as token ids: prompts as the endpoint encodes them, replies as the model wrote them."""

    def __init__(self, tokenizer: Any, *, bos: bool, encoder_decoder: bool):
        # An encoder's prompt always has the tokenizer's own end mark, as in endpoints/hypotheses.py.
        self._tokenizer, self._bos, self._encoder_decoder = tokenizer, bos or encoder_decoder, encoder_decoder

    def encode(self, ask: RolloutAsk) -> EncodedAsk:
        """Encode a call. Raises SpecError for a reply without tokens, or that its constraint does not allow."""
        prompt = self._ids(ask.prompt, self._bos)
        if ask.constraint is not None:
            constraint = PlanConstraint.from_json(ask.constraint)
            before = "" if self._encoder_decoder else ask.prompt
            tokens = TokenConstraint(constraint, self._tokenizer, self._tokenizer.eos_token_id, before)
            try:
                path = tokens.trace(ask.reply)
            except ValueError as error:
                raise SpecError(f"The reply {ask.reply[:80]!r} is not one that was allowed: {error}") from None
            reply = tuple(token for token, _ in path)
            has_end = reply[-1:] == (self._tokenizer.eos_token_id,)
            return EncodedAsk(prompt, reply, tuple(choices for _, choices in path), has_end)
        if self._encoder_decoder:
            reply = self._ids(ask.reply, False)
        else:
            reply = self._ids(ask.prompt + ask.reply, self._bos)[len(prompt) :]
        reply += (self._tokenizer.eos_token_id,) * ask.ended
        if not reply:
            raise SpecError("A reply of the rollouts is empty: nothing can be learnt from it.")
        return EncodedAsk(prompt, reply, None, ask.ended)

    def _ids(self, text: str, bos: bool) -> tuple[int, ...]:
        return tuple(self._tokenizer(text, add_special_tokens=bos)["input_ids"])


Logits = Callable[[Sequence[EncodedAsk]], Iterator[torch.Tensor]]


def read_logits(model: Any, pad: int) -> Logits:
    """Return a function that yields the logits of each call, for each token of its reply.

    The logits have the shape (tokens, vocabulary) and at least the precision of float32.
    """
    is_encoder_decoder = model.config.is_encoder_decoder

    def read(asks: Sequence[EncodedAsk]) -> Iterator[torch.Tensor]:
        device = next(model.parameters()).device
        if is_encoder_decoder:
            start = model.config.decoder_start_token_id
            prompts, real = _pad_right([ask.prompt for ask in asks], pad)
            replies, _ = _pad_right([(start, *ask.reply[:-1]) for ask in asks], pad)
            logits = model(
                input_ids=prompts.to(device), attention_mask=real.to(device), decoder_input_ids=replies.to(device)
            ).logits
            firsts = [0] * len(asks)
        else:
            ids, real = _pad_right([ask.prompt + ask.reply[:-1] for ask in asks], pad)
            logits = model(input_ids=ids.to(device), attention_mask=real.to(device), use_cache=False).logits
            firsts = [len(ask.prompt) - 1 for ask in asks]
        for row, first, ask in zip(logits, firsts, asks, strict=True):
            reply_logits = row[first : first + len(ask.reply)]
            yield reply_logits.to(torch.promote_types(reply_logits.dtype, torch.float32))

    return read


def score_replies(policy: Logits, asks: Sequence[EncodedAsk], reference: Logits | None = None) -> list[ReplyScore]:
    """Return the score of each call. Only the log-probabilities have gradients."""
    with torch.no_grad():
        references = list(reference(asks)) if reference else [None] * len(asks)
    scores = []
    for ask, logits, reference_logits in zip(asks, policy(asks), references, strict=True):
        mask = _mask(ask, logits)
        logs = _log_softmax(logits, mask)
        tokens = torch.tensor(ask.reply, device=logits.device)
        logprobs = logs.gather(1, tokens[:, None])
        with torch.no_grad():
            weights = logs.exp()
            finite = logs.masked_fill(~mask, 0.0)
            entropy = -(weights * finite).sum()
            kl = torch.zeros(())
            if reference_logits is not None:
                kl = (weights * (finite - _log_softmax(reference_logits, mask).masked_fill(~mask, 0.0))).sum()
        without_end = logprobs[: len(ask.reply) - ask.has_end]
        scores.append(ReplyScore(logprobs.sum(), without_end.sum(), entropy, kl))
    return scores


def _mask(ask: EncodedAsk, logits: torch.Tensor) -> torch.Tensor:
    """Return the allowed tokens at each token of the reply: bool, shape (tokens, vocabulary)."""
    if ask.allowed is None:
        return torch.ones_like(logits, dtype=torch.bool)
    mask = torch.zeros_like(logits, dtype=torch.bool)
    for row, choices in zip(mask, ask.allowed, strict=True):
        row[list(choices)] = True
    return mask


def _log_softmax(logits: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return logits.masked_fill(~mask, -torch.inf).log_softmax(-1)


def _pad_right(rows: Sequence[tuple[int, ...]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids of shape (rows, longest), and a mask that is 1 for ids and 0 for padding."""
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)
    real = torch.nn.utils.rnn.pad_sequence([torch.ones(len(row), dtype=torch.long) for row in rows], batch_first=True)
    return ids, real
