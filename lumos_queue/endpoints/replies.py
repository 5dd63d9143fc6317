"""Make a Completion from a server's reply, for the endpoints of all schemes, in these steps.

1. Reasoning is separated: the server's field for it, and the leading blocks of the text (reasoning.py).
2. White space and start tokens in front are removed; the text ends at the first end token (end_tokens.py).
3. The text ends at the first stop string.
4. The rest is stripped and made storable: it is the text that the formulation reads.

The completion's `message` stores the server's reply if more than white space and stop strings was removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

import orjson

from lumos_queue.endpoints.base import RULES
from lumos_queue.endpoints.end_tokens import find_end
from lumos_queue.endpoints.reasoning import may_have_reasoning, split_reasoning
from lumos_queue.endpoints.tool_calls import has_calls
from lumos_queue.records import Completion, FinishReason, JsonObject
from lumos_queue.util.sanitize import storable, storable_json

#: The end of a Llama-2 reply from a server that does not skip special tokens; the only end token of old rules.
END = "</s>"
SEPARATES_REASONING = 3  #: the first version of the formulations whose replies are read in the order above
#: The largest count that is stored: a column of a call's tokens has 32 bits, signed. Sums have 64.
MAX_COUNT = 2**31 - 1
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


class Reading(NamedTuple):
    """The text of a reply, its reasoning, and how the reply ended."""

    text: str
    reasoning: str = ""
    is_open: bool = False  #: whether it ended within its reasoning
    is_changed: bool = False  #: whether more than white space and stop strings was removed
    has_ended: bool = False  #: whether an end token or a stop string ended it
    has_stopped: bool = False  #: whether a stop string ended it


def truncate_at_stop(text: str, stops: Iterable[str]) -> str:
    """Return the text before the earliest stop string; empty stop strings are ignored."""
    positions = [position for stop in stops if stop and (position := text.find(stop)) >= 0]
    return text[: min(positions)] if positions else text


def read_text(text: str, stops: Iterable[str]) -> Reading:
    """Separate text and reasoning of a reply (steps 1 to 3), in time proportional to its length."""
    if not may_have_reasoning(text):
        body = text.lstrip()
        reply_text = truncate_at_stop(body, stops)
        has_stopped = len(reply_text) < len(body)
        return Reading(reply_text.rstrip(), "", False, False, has_stopped, has_stopped)
    split = split_reasoning(text)
    start = split.start
    end = find_end(text, start)
    reply_text = truncate_at_stop(text[start:end], stops)
    has_stopped = len(reply_text) < end - start
    has_end_token = end < len(text) and not has_stopped
    return Reading(
        reply_text.strip(),
        join_reasoning(split.blocks),
        split.is_open,
        has_end_token or bool(text[:start].strip()),
        has_end_token or has_stopped,
        has_stopped,
    )


def join_reasoning(blocks: Iterable[str]) -> str:
    """Return the blocks that are not empty as one text, separated by empty lines."""
    return "\n\n".join(stripped_block for block in blocks if (stripped_block := block.strip()))


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
    reasoning: str = "",
    reasoning_tokens: int = 0,
    message: JsonObject | None = None,
    rules: int = RULES,
) -> Completion:
    """Return the completion of a reply, stripped and storable.

    `truncated`: whether the server reached the limit of tokens. A stop string in the text takes precedence, because
    some servers ignore stop strings. `reasoning`: from a separate field of the server. `message`: the message of a chat
    server that contains `text`. `rules`: the version of the rules that read the reply (Sampling.rules).
    """
    if rules < SEPARATES_REASONING:
        reply_text = truncate_at_stop(text, (*stops, END))
        reading = Reading(reply_text.strip(), has_ended=reply_text != text)
        reasoning, reasoning_tokens, stored_message = "", 0, ""
    else:
        reading = read_text(text, stops)
        if reasoning or reading.reasoning:
            reasoning = join_reasoning((reasoning, reading.reasoning))
        stored_message = ""
        if message is not None and (
            reading.is_changed or reasoning or has_calls(message) or (message.get("content") or "") != text
        ):
            stored_message = write_message(message)
        elif message is None and reading.is_changed:
            stored_message = storable(text)[0]
    reply, replacement_count = storable(reading.text)
    if reasoning:
        reasoning, reasoning_replacements = storable(reasoning)
        replacement_count += reasoning_replacements
    is_cut = truncated and not reading.has_ended
    if not reply:
        # Only the limit explains tokens without text.
        has_thought = reasoning or reasoning_tokens or reading.is_open or (completion_tokens > 0 and not text)
        thinks_on = is_cut and has_thought and rules >= SEPARATES_REASONING
        reason = FinishReason.LENGTH if thinks_on else FinishReason.EMPTY
    elif is_cut:
        reason = FinishReason.LENGTH
    else:
        reason = FinishReason.STOP
    return Completion(
        reply,
        reason,
        prompt_tokens,
        completion_tokens,
        seconds,
        retries,
        replacement_count,
        waited,
        lost,
        queued,
        note,
        (),
        reasoning,
        reasoning_tokens,
        stored_message,
    )


def write_message(message: JsonObject) -> str:
    """Return the message of a chat server as storable JSON, or '' if it is nested too deeply."""
    try:
        return orjson.dumps(storable_json(dict(message))).decode()
    except (RecursionError, orjson.JSONEncodeError):
        pass  # orjson refuses integers above 64 bits, which a server may send
    try:
        return json.dumps(storable_json(dict(message)), ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""


def count(value: object, name: str, notes: list[str]) -> int:
    """Return the number of tokens or milliseconds that a server reports as `name`, or 0 if it reports none.

    Any other value is replaced by the nearest number from 0 to MAX_COUNT, and `notes` gets a line about it.
    """
    if value is None:
        return 0
    if (
        isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10
    ):  # the usual form of servers
        return int(value)
    number = _nearest(value)
    if number is None or not 0 <= number <= MAX_COUNT:
        wrong, number = value, max(0, min(number or 0, MAX_COUNT))
        notes.append(f"{name} {abbreviate(wrong)} clamped to {number}")
    return int(number)


def _nearest(value: object) -> float | None:
    """Return the value as a number, which may be out of bounds, or None if it is no number."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = float(value)  # infinite with too many digits
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return value


def abbreviate(value: object) -> str:
    """Return the value as storable text of at most 40 characters."""
    if type(value) is int and value.bit_length() > 128:  # Python refuses to write thousands of digits
        return f"of {value.bit_length()} bits"
    text = value if isinstance(value, str) else repr(value)[:200]
    return storable(text if len(text) <= 40 else f"{text[:37]}...")[0]
