"""Chat servers of the OpenAI protocol: `chat://HOST:PORT[/PREFIX]?model=NAME`, `chats://` over TLS.

The `openai` library writes the requests. POST /v1/chat/completions takes messages: the roles in the framed text of the
prompt become theirs. The scheme is for teachers, judges, and models that see images; LUMOS models need `openai://`.
"""

from __future__ import annotations

import json
from contextvars import ContextVar

import httpx2
import openai

from lumos_queue.endpoints.base import EndpointSettings, ModelCall
from lumos_queue.endpoints.connection import Broken, HttpReply
from lumos_queue.endpoints.http import REPLY_BYTES, Http, Malformed
from lumos_queue.endpoints.messages import read_content, read_reasoning
from lumos_queue.endpoints.openai import OpenAI
from lumos_queue.endpoints.replies import join_reasoning
from lumos_queue.endpoints.request_bodies import write_chat
from lumos_queue.endpoints.request_fields import merge_into_control
from lumos_queue.endpoints.tool_support import refuse_without_tools
from lumos_queue.endpoints.vision import data_url
from lumos_queue.records import Json, JsonObject


class Chat(OpenAI):
    """A chat model of one server or of several replicas. If the address names none, the first replica's only model."""

    _path = "/v1/chat/completions"

    def _connect(self, base: str, settings: EndpointSettings) -> Http:
        return _Server(base, settings)

    async def _prepare(self, call: ModelCall) -> None:
        """Ask the server for the name of its model if the address has none. Ask nothing else."""
        if not self._model:
            await self._client.describe(self._describe)

    def _write(self, call: ModelCall) -> dict[str, Json]:
        return write_chat(call, [*map(data_url, call.images)], self._model)

    def _control(self) -> dict[str, Json]:
        messages = [{"role": "user", "content": "1 + 1 ="}]
        body = {"model": self._model, "messages": messages, "max_tokens": 1, "temperature": 0.0}
        return merge_into_control(body, self._fields)

    def _text(self, choice: JsonObject) -> str:
        """Return the text of a reply's message, else its refusal, as formulations before version 3 read it."""
        message = _message(choice)
        text = message.get("content") or message.get("refusal") or ""
        if not isinstance(text, str):
            raise Malformed("no text in 'choices[0].message.content'")
        return text

    def _read_choice(self, choice: JsonObject, notes: list[str]) -> tuple[str, str, JsonObject | None]:
        message = _message(choice)
        text, thought = read_content(message, notes)
        return text, join_reasoning((read_reasoning(message, notes), thought)), message


def _message(choice: JsonObject) -> JsonObject:
    message = choice.get("message")
    if not isinstance(message, dict):
        raise Malformed("no message in 'choices[0].message'")
    return message


class _Server(Http):
    """A client of one server: the library builds chat requests and parses the replies.

    The bytes of both go through the connections that all schemes share. Only the body of the library's request is
    sent, because its headers contain values of OPENAI_* variables.
    """

    def __init__(self, base: str, settings: EndpointSettings):
        super().__init__(base, settings)
        self._over = _Transport(self)
        self._library = openai.AsyncOpenAI(
            api_key="none",  # the connections send the server's own key
            base_url=f"{base}/v1",
            max_retries=0,  # the client retries, because it knows all replicas
            timeout=None,  # the connections have a deadline for the whole request
            http_client=httpx2.AsyncClient(transport=self._over, trust_env=False, follow_redirects=False),
        )

    async def _send(self, path: str, data: bytes, max_bytes: int) -> HttpReply:
        bound = _max_bytes.set(max_bytes)
        body = json.loads(data)
        model, messages = body.pop("model"), body.pop("messages")
        try:
            # The library sends fields of `extra_body` unchanged, also unknown ones.
            create = self._library.chat.completions.with_raw_response.create
            raw = await create(model=model, messages=messages, extra_body=body)
            reply = raw.http_response
        except openai.APIStatusError as error:
            reply = error.response
        except openai.APIConnectionError as error:
            raise error.__cause__ or Broken(str(error)) from None
        finally:
            _max_bytes.reset(bound)
        if "tools" in body and reply.status_code >= 400:
            refuse_without_tools(self.base, reply.status_code, self._without_key(reply.content))
        return HttpReply(reply.status_code, reply.reason_phrase, dict(reply.headers), reply.content)

    async def send_over(self, body: bytes) -> HttpReply:
        """Send the body of the library's request through the shared connections."""
        return await super()._send("/v1/chat/completions", body, _max_bytes.get())

    async def close(self) -> None:
        await super().close()
        await self._library.close()


class _Transport(httpx2.AsyncBaseTransport):
    """Passes the requests of the library to the shared connections."""

    def __init__(self, server: _Server):
        self._server = server

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        reply = await self._server.send_over(await request.aread())
        headers = {name: value for name, value in reply.headers.items() if name not in _FRAMES}
        extensions = {"reason_phrase": reply.reason.encode("latin-1")}
        return httpx2.Response(reply.status, headers=headers, content=reply.body, extensions=extensions)


#: The most bytes of the reply to the request of this task.
_max_bytes: ContextVar[int] = ContextVar("max_bytes", default=REPLY_BYTES)
#: Headers about the transfer of a body; the library gets the body whole.
_FRAMES = ("content-encoding", "content-length", "transfer-encoding")
