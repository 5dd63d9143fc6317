"""Estimate from one call how long a job of 100 rows takes at an endpoint."""

from __future__ import annotations

import asyncio

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.client import SPARE
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.errors import EpisodeError, LumosError
from lumos_queue.records import Completion
from lumos_queue.settings import Settings
from lumos_queue.util.wording import format_limit, format_rate, format_rough_seconds, format_seconds, plural

ROWS = 100
TOKENS = 64  #: that the reply may have
PROMPT = "A baker sells 12 rolls on Monday and 30 on Tuesday. How many are that? Explain it in three sentences.\n"


def estimate(url: str, settings: Settings) -> tuple[bool | None, str]:
    """Return whether a call was answered (None: no estimate is possible), and the estimate or problem in one line."""
    try:
        reply, slots = asyncio.run(_call(url, settings))
    except TimeoutError:
        seconds = settings.request_seconds
        return None, (
            f"no reply within {format_limit(seconds)} (LUMOS_REQUEST_SECONDS): {ROWS} rows of one call each need "
            f"more than {format_rough_seconds(ROWS * seconds)} one after the other. Jobs wait as long as the server "
            "is alive"
        )
    except EpisodeError as error:  # for example of a script that has no reply to this prompt
        return None, f"no estimate: {error}"
    except LumosError as error:
        return False, str(error)
    tokens = reply.completion_tokens
    size = plural(tokens, "token") if tokens else "unknown length"
    rate = f", {format_rate(tokens / reply.seconds)} tokens/s" if tokens and reply.seconds else ""
    beginning = (
        f"a reply of {size} took {format_seconds(reply.seconds)}{rate}; {ROWS} rows of one such call each "
        "(a reply of cot has some 150 tokens): about "
    )
    if slots:
        return (
            True,
            f"{beginning}{format_rough_seconds(ROWS * reply.seconds / slots)}, {slots} at once as the server states",
        )
    duration = format_rough_seconds(ROWS * reply.seconds)
    return True, f"{beginning}{duration} one after the other, less where it serves several at once"


async def _call(url: str, settings: Settings) -> tuple[Completion, int]:
    """Return the reply, and how many requests at once the server states that it serves; 0 if it states none."""
    endpoint = open_endpoint(url, settings)
    try:
        await endpoint.identity()
        call = ModelCall(PROMPT, Sampling(max_tokens=TOKENS, stop=()))
        reply = await asyncio.wait_for(endpoint.generate(call), settings.request_seconds)
        admission = getattr(endpoint, "admission", None)
        return reply, int((admission.stated_slots or 0) / SPARE) if admission else 0
    finally:
        await endpoint.close()
