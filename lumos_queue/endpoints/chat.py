"""Chat servers of the OpenAI protocol, by the `openai` library: `chat://HOST:PORT[/PREFIX]?model=NAME`, `chats://`.

POST /v1/chat/completions takes messages. The prompt is framed text, and its roles become the messages': for teachers,
judges, and models that see images. What LUMOS models were trained on goes to `openai://` as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import httpx2
import openai

from lumos_queue.endpoints.base import EndpointSettings, ImagePart, Sampling
from lumos_queue.endpoints.client import Client
from lumos_queue.endpoints.connection import Broken, Reply
from lumos_queue.endpoints.http import REPLY_BYTES, Http, Malformed, reply_bytes
from lumos_queue.endpoints.openai import OpenAI
from lumos_queue.endpoints.replicas import Replicas
from lumos_queue.endpoints.replies import completion, count
from lumos_queue.endpoints.vision import with_images
from lumos_queue.records import Completion

_TURN = re.compile(r"^<\|(system|user|assistant)\|>\n", re.MULTILINE)
_END = "</s>"


def messages(prompt: str) -> list[dict[str, str]]:
    """The turns of framed text, without the header that asks for the reply. Text without roles is one user's."""
    pieces = _TURN.split(prompt)
    before, turns = pieces[0].strip(), list(zip(pieces[1::2], pieces[2::2], strict=True))
    if before or not turns:
        turns.insert(0, ("user", before))
    if turns[-1] == ("assistant", ""):
        turns.pop()
    return [{"role": role, "content": text.strip().removesuffix(_END).rstrip()} for role, text in turns]


class Chat(OpenAI):
    """One chat model of one server, or of several replicas. Without a name the first replica's only model is meant."""

    def __init__(
        self, url: str, bases: Sequence[str], model: str, settings: EndpointSettings, first_backoff: float = 0.5
    ):
        super().__init__(url, bases, model, settings, first_backoff)
        self._client = _ChatClient(url, bases, settings, first_backoff, self._control)
        self.traffic = self._client.traffic

    async def generate(
        self, prompt: str, sampling: Sampling, seed: int, episode: str = "", images: Sequence[ImagePart] = ()
    ) -> Completion:
        """Raises also SpecError when no model is named and the server does not have exactly one."""
        if not self._model:
            await self._client.describe(self._describe)
        body: dict[str, Any] = {
            "model": self._model,
            "messages": with_images(messages(prompt), images),
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
        }
        if sampling.stop:
            body["stop"] = list(sampling.stop[:4])
        if sampling.temperature > 0:
            body |= {"top_p": sampling.top_p, "seed": seed % 2**31}
        reply = await self._client.post("/v1/chat/completions", body, _read, episode, reply_bytes(sampling.max_tokens))
        text, truncated, asked, written, note = reply.value
        return completion(
            text,
            sampling.stop,
            truncated=truncated,
            prompt_tokens=asked,
            completion_tokens=written,
            **reply.cost,
            note=note,
        )

    def _control(self) -> dict[str, Any]:
        messages = [{"role": "user", "content": "1 + 1 ="}]
        return {"model": self._model, "messages": messages, "max_tokens": 1, "temperature": 0.0}


class _ChatClient(Client):
    """The project's gate, replicas and tries, around the library's requests."""

    def __init__(
        self, url: str, bases: Sequence[str], settings: EndpointSettings, first_backoff: float,
        control: Callable[[], Mapping[str, Any]],
    ):  # fmt: skip
        super().__init__(url, bases, settings, first_backoff, control)
        self.replicas = Replicas(_Server(base, settings) for base in bases)


class _Server(Http):
    """A client of one server whose chat requests the library builds, and whose replies it parses.

    Their bytes go through the connections that all schemes share. Of the library's request its body alone is sent:
    none of its headers, into which it puts what OPENAI_* variables say.
    """

    def __init__(self, base: str, settings: EndpointSettings):
        super().__init__(base, settings)
        self._over = _Transport(self)
        self._library = openai.AsyncOpenAI(
            api_key="none",  # the connections send the server's own
            base_url=f"{base}/v1",
            max_retries=0,  # trying again is the client's business, with all replicas in view
            timeout=None,  # the connections have a deadline for all of it
            http_client=httpx2.AsyncClient(transport=self._over, trust_env=False, follow_redirects=False),
        )

    async def _send(self, path: str, data: bytes, most_bytes: int) -> Reply:
        bound = _most_bytes.set(most_bytes)
        try:
            raw = await self._library.chat.completions.with_raw_response.create(**json.loads(data))
            reply = raw.http_response
        except openai.APIStatusError as error:
            reply = error.response
        except openai.APIConnectionError as error:
            raise error.__cause__ or Broken(str(error)) from None
        finally:
            _most_bytes.reset(bound)
        return Reply(reply.status_code, reply.reason_phrase, dict(reply.headers), reply.content)

    async def send_over(self, body: bytes) -> Reply:
        """The library's request, as this project sends it."""
        return await super()._send("/v1/chat/completions", body, _most_bytes.get())

    async def close(self) -> None:
        await super().close()
        await self._library.close()


class _Transport(httpx2.AsyncBaseTransport):
    def __init__(self, server: _Server):
        self._server = server

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        reply = await self._server.send_over(await request.aread())
        headers = {name: value for name, value in reply.headers.items() if name not in _FRAMES}
        return httpx2.Response(
            reply.status, headers=headers, content=reply.body,
            extensions={"reason_phrase": reply.reason.encode("latin-1")},
        )  # fmt: skip


#: How many bytes the reply to the request of this task may have.
_most_bytes: ContextVar[int] = ContextVar("most_bytes", default=REPLY_BYTES)
#: Headers about how a body travelled; the library gets it whole.
_FRAMES = ("content-encoding", "content-length", "transfer-encoding")


def _read(reply: dict[str, Any], _headers: Mapping[str, str]) -> tuple[str, bool, int, int, str]:
    """Text (a refusal's too), whether the token limit ended it, and the tokens of prompt and reply."""
    choices, usage = reply.get("choices"), reply.get("usage")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise Malformed("no message in 'choices[0].message'")
    text = message.get("content") or message.get("refusal") or ""
    if not isinstance(text, str):
        raise Malformed("no text in 'choices[0].message.content'")
    if not isinstance(usage, dict):
        usage = {}
    notes: list[str] = []
    asked, written = (count(usage.get(name), name, notes) for name in ("prompt_tokens", "completion_tokens"))
    return text, choice.get("finish_reason") == "length", asked, written, "; ".join(notes)
