"""Whether a refusal says that the prompt does not fit the model's context, as servers have it.

Such a reply is about the prompt alone: another try gets the same one, and the server that says it is well. It is known
by a field where a protocol has one, else by the words of the servers that have none. A refusal that is not understood
is any other: whose fault it is takes evidence (evidence.py).
"""

from __future__ import annotations

import json
from typing import Any

from lumos_queue.errors import EpisodeError
from lumos_queue.records import Ending

STATUSES = (400, 413, 422)  #: with which servers say so
MAX_BYTES = 64 * 2**10  #: of a reply that is looked at; servers explain a refusal in a few hundred
MAX_CHARACTERS = 2_000  #: of its message

#: `error.code` of OpenAI, `error.type` of llama.cpp.
CODES = ("context_length_exceeded", "exceed_context_size_error")
#: Parts of the messages of servers that give no such code, in small letters.
WORDS = (
    "`inputs` tokens + `max_new_tokens` must be <=",  # text-generation-inference
    "`inputs` must have less than",  # the same, for the prompt alone
    "maximum context length",  # vLLM, SGLang
)


class ContextFull(EpisodeError):
    """Raised when a server says that the prompt, with the reply that was asked for, does not fit its model."""

    def __init__(self, message: str):
        super().__init__(Ending.LIMIT, f"the model's context is full: {message}")


def is_context_full(status: int, body: bytes) -> bool:
    """Whether a reply with this status and body says so. Never raises, whatever the body is."""
    if status not in STATUSES or len(body) > MAX_BYTES:
        return False
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return False
    if not isinstance(reply, dict):
        return False
    error = reply.get("error")
    places: list[dict[str, Any]] = [reply, error] if isinstance(error, dict) else [reply]
    if any(place.get(name) in CODES for place in places for name in ("code", "type")):
        return True
    said = (place.get(name) for place in places for name in ("error", "message", "detail"))
    messages = [text[:MAX_CHARACTERS].lower() for text in said if isinstance(text, str)]
    return any(words in message for words in WORDS for message in messages)
