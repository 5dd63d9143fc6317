"""Make a Completion from the result of a search: select the candidate that becomes the reply."""

from __future__ import annotations

import math
import random
import time
from dataclasses import replace

from lumos_queue.endpoints.base import ModelCall
from lumos_queue.endpoints.replies import completion
from lumos_queue.endpoints.search import SearchResult
from lumos_queue.records import Candidate, Completion


def choose_reply(call: ModelCall, search: SearchResult, start: float) -> Completion:
    """Return the best candidate as a completion, or with probability `epsilon` a sampled candidate.

    Sampling uses the softmax of the log-probabilities: OpenAGI explores in this way (arXiv:2304.04370). The completion
    lists all candidates, unless a plain reply was requested. `start`: time.perf_counter() at the request's start.
    """
    # With a constraint, only the constraint ends a reply.
    stops = call.sampling.stop if call.constraint is None else ()
    rules = call.sampling.rules
    replies = [completion(reply.text, stops, truncated=reply.truncated, rules=rules) for reply in search.replies]
    index, is_sampled = 0, False
    chance = random.Random(call.seed)
    if call.sampling.epsilon > 0 and chance.random() < call.sampling.epsilon:
        best = search.replies[0].logprob
        weights = [math.exp(reply.logprob - best) for reply in search.replies]
        (index,), is_sampled = chance.choices(range(len(weights)), weights), True
    lists_candidates = call.constraint is not None or call.candidates > 1 or call.sampling.beams > 0
    pairs = zip(replies, search.replies, strict=True)
    return replace(
        replies[index],
        prompt_tokens=search.prompt_tokens,
        completion_tokens=search.replies[index].tokens,
        seconds=time.perf_counter() - start,
        note=f"drawn: candidate {index + 1} of {len(replies)}" if is_sampled else "",
        candidates=tuple(Candidate(reply.text, source.logprob) for reply, source in pairs) if lists_candidates else (),
    )
