"""From what a server said to a Completion: the same cutting and cleaning for every endpoint."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lumos_queue.records import Completion, FinishReason
from lumos_queue.util.sanitize import storable

#: How a server that does not skip special tokens shows the end of a Llama-2 reply.
END = "</s>"
#: The largest count that is stored: a column of a call's tokens has 32 bits, signed. Sums have 64.
MAX_COUNT = 2**31 - 1
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


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
    note: str = "",
) -> Completion:
    """The reply cut at the stop strings, stripped and storable.

    `truncated`: the server ran into the limit of tokens; a stop string in the text counts more, since not every server
    honours stop strings.
    """
    kept = cut(text, (*stops, END))
    reply, replaced = storable(kept.strip())
    if not reply:
        reason = FinishReason.EMPTY
    elif truncated and kept == text:
        reason = FinishReason.LENGTH
    else:
        reason = FinishReason.STOP
    return Completion(
        reply, reason, prompt_tokens, completion_tokens, seconds, retries, replaced, waited, lost, queued, note
    )


def count(value: object, name: str, notes: list[str]) -> int:
    """A number as a server reports it under `name`, of tokens or milliseconds; 0 when there is none.

    What is not a number from 0 to MAX_COUNT is taken as the nearest of these, and a line is added to `notes`.
    """
    if value is None:
        return 0
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:  # as servers write it
        return int(value)
    taken = _nearest(value)
    if taken is None or not 0 <= taken <= MAX_COUNT:
        wrong, taken = value, max(0, min(taken or 0, MAX_COUNT))
        notes.append(f"{name} {abbreviate(wrong)} clamped to {taken}")
    return int(taken)


def _nearest(value: object) -> float | None:
    """The value as a number, which may be out of bounds; None when it is not one."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)  # infinite, where the digits are too many
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return value


def abbreviate(value: object) -> str:
    """The value in at most 40 characters."""
    if type(value) is int and value.bit_length() > 128:  # Python refuses to write thousands of digits
        return f"of {value.bit_length()} bits"
    text = value if isinstance(value, str) else repr(value)[:200]
    return storable(text if len(text) <= 40 else f"{text[:37]}...")[0]
