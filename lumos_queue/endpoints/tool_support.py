"""Refuse functions in requests to endpoints that only take text, and to servers without tool calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from lumos_queue.commands import FunctionSchema
from lumos_queue.endpoints.statuses import phrase_of
from lumos_queue.errors import EndpointDown, EpisodeError
from lumos_queue.records import Ending
from lumos_queue.util.sanitize import storable

MAX_CHARACTERS = 2_000  #: of a server's message that are read
REMEDY = (
    "start it with tool calls (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice --tool-call-parser NAME), or submit "
    "the job with --setting calls=text"
)
#: Words of servers that do not take `tools`: llama.cpp, vLLM, Ollama, OpenRouter, OpenAI, and checkers of fields.
_LACKING = re.compile(
    r"--?jinja|enable-auto-tool-choice|tool-call-parser|not support|n't support|unsupported|that support tool"
    r"|extra_forbidden|extra inputs|unrecognized|unexpected (key|field|keyword)|unknown (key|field|parameter|argument)"
)
_TOOLS = re.compile(r"\btools?\b|\btool_choice\b|function.?call")


def refuse_functions(url: str, functions: Sequence[FunctionSchema]) -> None:
    """Raise EpisodeError if there are functions. Endpoints that only take text call this."""
    if functions:
        message = f"{url} takes no functions: use chat://HOST:PORT?model=NAME, or --setting calls=text."
        raise EpisodeError(Ending.INFRA_ERROR, message)


def refuse_without_tools(base: str, status: int, body: bytes) -> None:
    """Raise EndpointDown if a refusal with this status and body means that the server accepts no functions at all.

    Such a server would refuse each request, so the job waits, and no episode is charged.
    """
    text = " ".join(body[:MAX_CHARACTERS].decode("utf-8", "replace").split())
    if lacks_tools(text):
        host = urlsplit(base).netloc.rpartition("@")[2]
        quotation = storable(text[:200])[0]
        message = f'{host} answered {phrase_of(status)} ("{quotation}"): it takes no functions; {REMEDY}'
        raise EndpointDown(message, status=min(status, 400))  # a person has to act, also after a 500


def lacks_tools(text: str) -> bool:
    """Whether a server's message means that it has no tool calls, and not that a function or a call is wrong."""
    text = text[:MAX_CHARACTERS].lower()
    return bool(_TOOLS.search(text) and _LACKING.search(text)) and "schema" not in text
