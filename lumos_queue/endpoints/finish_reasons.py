"""Read why a reply has ended, as servers report it: only an end by the model or its limit makes a complete reply.

A server that aborts a request sends the text so far, with a 200: without this check, half an answer would be scored.
"""

from __future__ import annotations

from lumos_queue.endpoints.http import Malformed
from lumos_queue.endpoints.replies import abbreviate
from lumos_queue.errors import EpisodeError
from lumos_queue.records import Ending

#: Of OpenAI's protocol and text-generation-inference: the model, a stop string or the limit of tokens ended it.
OWN_ENDS = frozenset(("stop", "length", "eos_token", "stop_sequence", "tool_calls", "function_call", "max_tokens"))
LIMITS = ("length", "max_tokens")
#: The server has ended it: vLLM, SGLang and others.
FAILURES = frozenset(("abort", "aborted", "cancelled", "canceled", "error", "failed", "timeout"))
WITHHELD = "content_filter"
MAX_REASONS = 100  #: unknown reasons that are remembered


class FinishReasons:
    """Reads the finish reasons of one endpoint."""

    def __init__(self) -> None:
        self._unknown: set[str] = set()  # reasons of earlier replies

    def read(self, value: object, notes: list[str]) -> bool:
        """Return whether the limit of tokens ended the reply. Add an unknown reason to `notes`.

        Raises Malformed, so that the request is sent again, if the server aborted the reply, and when an unknown reason
        occurs for the first time. Raises EpisodeError('no_answer', …) if the server withheld the reply.
        """
        reason = "" if value is None else abbreviate(value)  # a server may send anything
        if not reason or reason in OWN_ENDS:
            return reason in LIMITS
        if reason == WITHHELD:
            raise EpisodeError(Ending.NO_ANSWER, f"the server has withheld the reply (finish_reason '{reason}')")
        is_known = reason in self._unknown
        if reason in FAILURES or not is_known:
            if reason not in FAILURES and len(self._unknown) < MAX_REASONS:
                self._unknown.add(reason)
            raise Malformed(f"the reply has ended with finish_reason '{reason}'")
        notes.append(f"finish_reason '{reason}'")
        return False
