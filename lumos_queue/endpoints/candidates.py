"""From what a search found to a Completion: which candidate becomes the reply."""

from __future__ import annotations

import math
import random
import time
from dataclasses import replace

from lumos_queue.endpoints.replies import completion
from lumos_queue.endpoints.search import SearchRequest, SearchResult
from lumos_queue.records import Candidate, Completion


def choose_reply(request: SearchRequest, found: SearchResult, started: float) -> Completion:
    """The best candidate; with the probability `epsilon` of the sampling one drawn from the softmax of their
    log-probabilities (OpenAGI, arXiv:2304.04370, which is where its feedback explores).

    All are listed, unless a plain reply was asked for. `started`: as time.perf_counter() had it.
    """
    # A constraint alone says where a reply ends.
    stops = request.sampling.stop if request.constraint is None else ()
    rules = request.sampling.rules
    replies = [completion(one.text, stops, truncated=one.truncated, rules=rules) for one in found.replies]
    chosen, drawn = 0, False
    chance = random.Random(request.seed)
    if request.sampling.epsilon > 0 and chance.random() < request.sampling.epsilon:
        best = found.replies[0].logprob
        weights = [math.exp(one.logprob - best) for one in found.replies]
        (chosen,), drawn = chance.choices(range(len(weights)), weights), True
    listed = request.constraint is not None or request.n > 1 or request.sampling.beams > 0
    both = zip(replies, found.replies, strict=True)
    return replace(
        replies[chosen],
        prompt_tokens=found.prompt_tokens,
        completion_tokens=found.replies[chosen].tokens,
        seconds=time.perf_counter() - started,
        note=f"drawn: candidate {chosen + 1} of {len(replies)}" if drawn else "",
        candidates=tuple(Candidate(one.text, source.logprob) for one, source in both) if listed else (),
    )
