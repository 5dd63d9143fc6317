"""The base class of endpoints at HTTP servers: it sends requests, retries them and reads the server's identity."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lumos_queue.endpoints.base import RULES, EndpointSettings, ModelCall
from lumos_queue.endpoints.client import Client, TimedReply
from lumos_queue.endpoints.http import Http, reply_bytes
from lumos_queue.endpoints.replies import MAX_COUNT, SEPARATES_REASONING, completion, read_text
from lumos_queue.endpoints.request_fields import count_most_tokens
from lumos_queue.endpoints.tool_calls import has_calls
from lumos_queue.endpoints.urls import base_urls, model_name
from lumos_queue.records import Completion, Json, JsonObject

#: The note of a reply after a second request.
AGAIN = "requested again without stop strings: the first reply was empty"


@dataclass(frozen=True, slots=True)
class ServerReply:
    """A server's reply, before reasoning and stop strings in its text are separated."""

    text: str
    truncated: bool  #: whether the limit of tokens ended it
    prompt_tokens: int
    completion_tokens: int
    notes: tuple[str, ...] = ()  #: on values that had to be changed
    reasoning: str = ""  #: from a separate field
    reasoning_tokens: int = 0  #: of `completion_tokens`
    message: JsonObject | None = None  #: of a chat server, with the text
    has_own_end: bool = False  #: whether the server reports that the model ended it, and no stop string
    queued: float = 0.0  #: seconds in the server's queue


class ServerEndpoint(ABC):
    """A model on one server or on several replicas."""

    def __init__(self, url: str, settings: EndpointSettings, first_backoff: float = 0.5):
        """`url`: a checked address. `first_backoff`: seconds before the second try of a request, doubled each time."""
        self.url = url
        self._model = model_name(url)
        self._fields: JsonObject = {}  #: that a person set, of the latest request; a control also has them
        servers = [self._connect(base, settings) for base in base_urls(url)]
        self._client = Client(url, servers, settings, first_backoff, self._control, self._read)
        self.admission = self._client.admission

    def _connect(self, base: str, settings: EndpointSettings) -> Http:
        """Return a client of one replica."""
        return Http(base, settings)

    @abstractmethod
    def _control(self) -> dict[str, Json]:
        """Return the body of a request for one token that any server of this protocol accepts."""

    @abstractmethod
    def _read(self, reply: JsonObject, headers: Mapping[str, str], rules: int = RULES) -> ServerReply:
        """Read the body and headers of a reply. Raises Malformed when it has no text.

        `rules`: the version of the formulations whose rules read the reply (Sampling.rules).
        """

    async def _complete(self, path: str, body: JsonObject, call: ModelCall) -> Completion:
        """Return a call's completion by its body. If the reply is empty, request it once more without stop strings.

        A stop string may have ended the empty reply at its start or within its reasoning, where line breaks are common.
        The stop strings are applied to the second reply here. Raises the errors of `Client.post`.
        """
        sampling = call.sampling
        self._fields = sampling.request
        timed_reply = await self._request(path, body, call)
        first = _write_completion(timed_reply, sampling.stop, sampling.rules)
        if first.text or sampling.rules < SEPARATES_REASONING or has_calls(timed_reply.value.message or {}):
            return first
        without, stops = _without_stops(body)
        reply = timed_reply.value
        if not stops or reply.truncated or reply.has_own_end or read_text(reply.text, sampling.stop).has_stopped:
            return first
        timed_reply = await self._request(path, without, call)
        second = _write_completion(timed_reply, (*sampling.stop, *stops), sampling.rules)
        return replace(
            second,
            prompt_tokens=min(MAX_COUNT, first.prompt_tokens + second.prompt_tokens),
            completion_tokens=min(MAX_COUNT, first.completion_tokens + second.completion_tokens),
            reasoning_tokens=min(MAX_COUNT, first.reasoning_tokens + second.reasoning_tokens),
            seconds=first.seconds + second.seconds,
            retries=first.retries + second.retries,
            waited=first.waited + second.waited,
            lost=first.lost + second.lost,
            queued=first.queued + second.queued,
            note="; ".join(dict.fromkeys(note for note in (first.note, AGAIN, second.note) if note)),
        )

    async def _request(self, path: str, body: JsonObject, call: ModelCall) -> TimedReply[ServerReply]:
        rules = call.sampling.rules
        read = self._read if rules == RULES else partial(self._read, rules=rules)
        return await self._client.post(path, body, read, call.episode, reply_bytes(count_most_tokens(call.sampling)))

    @abstractmethod
    async def _describe(self, http: Http) -> dict[str, Json]:
        """Return one replica's own description. Raises InfrastructureError, EndpointRefused and SpecError."""

    async def identity(self) -> dict[str, Json]:
        return await self._client.identity(self._describe)

    async def close(self) -> None:
        await self._client.close()


def _write_completion(timed_reply: TimedReply[ServerReply], stops: Iterable[str], rules: int) -> Completion:
    reply, notes = timed_reply.value, timed_reply.value.notes
    if reply.queued > timed_reply.seconds + 0.001:  # milliseconds
        notes = (*notes, f"x-queue-time {reply.queued:g} s clamped to the {timed_reply.seconds:.3f} s of the request")
    return completion(
        reply.text,
        stops,
        truncated=reply.truncated,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        **timed_reply.cost,
        queued=min(reply.queued, timed_reply.seconds),
        note="; ".join(notes),
        reasoning=reply.reasoning,
        reasoning_tokens=reply.reasoning_tokens,
        message=reply.message,
        rules=rules,
    )


def _without_stops(body: JsonObject) -> tuple[dict[str, Json], tuple[str, ...]]:
    """Return the body of a request without its stop strings, and these. They may be in the field `parameters`."""
    without: dict[str, Json] = dict(body)
    holder, parameters = without, without.get("parameters")
    if isinstance(parameters, dict):
        holder = without["parameters"] = dict(parameters)
    stops: Any = holder.pop("stop", None) or ()
    return without, (stops,) if isinstance(stops, str) else tuple(stop for stop in stops if isinstance(stop, str))
