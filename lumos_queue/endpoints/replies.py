"""From what a server said to a Completion: the same cutting and cleaning for every endpoint."""

from __future__ import annotations

from collections.abc import Iterable

from lumos_queue.records import Completion
from lumos_queue.storable import storable

#: A server that does not skip special tokens shows the end of a Llama-2 reply as this text.
END = "</s>"


def cut(text: str, stops: Iterable[str]) -> str:
    """The text before the earliest stop string; empty stop strings are ignored."""
    found = [at for stop in stops if stop and (at := text.find(stop)) >= 0]
    return text[: min(found)] if found else text


def completion(
    text: str,
    stops: Iterable[str],
    *,
    truncated: bool,
    prompt_tokens: int = 0,
    completion_tokens: int = 0,
    seconds: float = 0.0,
    retries: int = 0,
    waited: float = 0.0,
    lost: float = 0.0,
    queued: float = 0.0,
) -> Completion:
    """The reply cut at the stop strings, stripped and storable.

    `truncated` says that the server ran into the limit of tokens; a stop string in the text outweighs it, since not
    every server honours stop strings.
    """
    kept = cut(text, (*stops, END))
    reply, replaced = storable(kept.strip())
    if not reply:
        reason = "empty"
    elif truncated and kept == text:
        reason = "length"
    else:
        reason = "stop"
    return Completion(reply, reason, prompt_tokens, completion_tokens, seconds, retries, replaced, waited, lost, queued)


def count(value: object) -> int:
    """A number of tokens as a server reports it: 0 when it is absent or no sensible count."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    return value if type(value) is int and 0 <= value < 2**31 else 0
