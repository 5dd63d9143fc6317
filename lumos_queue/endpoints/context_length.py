"""Recognise replies of servers about a prompt that does not fit the model's context.

Such a reply is about the prompt alone: another try has the same outcome, and the server is healthy. Servers send it
with various statuses, also 500, or with 200 and an error in place of the reply. Some protocols have a field that
identifies it. Otherwise its text has words about the context or the length of the prompt, and words that it is
exceeded. Messages about rate limits, quotas, memory and deadlines use similar words and are excluded.
"""

from __future__ import annotations

import json
import re

from lumos_queue.errors import EpisodeError
from lumos_queue.records import Ending, Json, JsonObject

TOO_MANY_REQUESTS = 429  #: the only status that is never about the prompt
MAX_BYTES = 64 * 2**10  #: longer replies are ignored; servers explain a refusal in a few hundred bytes
MAX_CHARACTERS = 2_000  #: of its message that are read

#: `error.code` of OpenAI, `error.type` of llama.cpp.
CODES = ("context_length_exceeded", "exceed_context_size_error")
#: Words for the context or the length of the prompt.
_LENGTH = re.compile(
    r"context|max(imum)?[ _](model|seq(uence)?|input)[ _]len|model('s)? (maximum )?length|n_ctx"
    r"|(prompt|inputs?|messages|sequence)\b[^.]{0,80}\b(tokens?|length|long)|tokens? (count|limit)|number of tokens"
)
#: Words for an exceeded limit.
_EXCEEDED = re.compile(
    r"exceed|(long|larg|great)er than|too (long|large|many)|more than|at most|maximum|overflow|(does|do)( not|n't) fit"
    r"|must be (<=|less|smaller|at most)|must have less than|reduce the length|tokens? > "
)
#: Words of other limits than the length of the prompt.
_OTHER_LIMIT = re.compile(
    r"rate.?limit|per (second|minute|min|hour|day)\b|\b[tr]p[md]\b|quota|credit|billing|memory|cuda|kv.?cache"
    r"|deadline|cancel|time.?out"
)


class ContextFull(EpisodeError):
    """Raised when a server reports that the prompt and the requested reply do not fit its model."""

    def __init__(self, message: str):
        super().__init__(Ending.LIMIT, f"the model's context is full: {message}")


def is_context_full(status: int, body: bytes) -> bool:
    """Return whether a reply with this status and body reports a full context. Never raises, whatever the body is."""
    if status == TOO_MANY_REQUESTS or len(body) > MAX_BYTES:
        return False
    try:
        reply: Json = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(reply, dict):
        return False
    error = reply.get("error")
    nodes: list[JsonObject] = [reply, error] if isinstance(error, dict) else [reply]
    if any(node.get(name) in CODES for node in nodes for name in ("code", "type")):
        return True
    texts = (node.get(name) for node in nodes for name in ("error", "message", "detail"))
    return any(_says_too_long(text[:MAX_CHARACTERS].lower()) for text in texts if isinstance(text, str))


def _says_too_long(message: str) -> bool:
    return bool(_LENGTH.search(message) and _EXCEEDED.search(message)) and not _OTHER_LIMIT.search(message)
