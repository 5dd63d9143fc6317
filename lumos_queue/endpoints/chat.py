"""Chat servers of the OpenAI protocol, by the `openai` library: `chat://HOST:PORT[/PREFIX]?model=NAME`, `chats://`.

POST /v1/chat/completions takes messages. The prompt is framed text, and its roles become the messages': for teachers,
judges, and models that see images. What LUMOS models were trained on goes to `openai://` as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import openai

from lumos_queue.endpoints.base import EndpointSettings, ImagePart, Sampling
from lumos_queue.endpoints.client import Client
from lumos_queue.endpoints.http import CONNECT_SECONDS, Http, Malformed, TryFailed, json_object, one_line, refusal
from lumos_queue.endpoints.openai import OpenAI
from lumos_queue.endpoints.replicas import Replicas
from lumos_queue.endpoints.replies import completion, count
from lumos_queue.endpoints.vision import with_images
from lumos_queue.records import Completion

T = TypeVar("T")

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
        self._client = _ChatClient(url, bases, settings, first_backoff)
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
        reply = await self._client.post("/v1/chat/completions", body, _read, episode)
        text, truncated, asked, written = reply.value
        return completion(
            text,
            sampling.stop,
            truncated=truncated,
            prompt_tokens=asked,
            completion_tokens=written,
            **reply.cost,
        )


class _ChatClient(Client):
    """The project's gate, replicas and tries, around the library's requests."""

    def __init__(self, url: str, bases: Sequence[str], settings: EndpointSettings, first_backoff: float):
        super().__init__(url, bases, settings, first_backoff)
        self.replicas = Replicas(_Server(base, settings) for base in bases)


class _Server(Http):
    """A client of one server whose chat requests the library makes; what is asked about the server goes as ever."""

    def __init__(self, base: str, settings: EndpointSettings):
        super().__init__(base, settings)
        # The address that was written down is the one that is spoken to, and the only one to see the key.
        self._http = openai.DefaultAsyncHttpxClient(
            trust_env=False,
            follow_redirects=False,
            timeout=openai.Timeout(settings.request_seconds, connect=min(CONNECT_SECONDS, settings.request_seconds)),
        )
        self._library = openai.AsyncOpenAI(
            api_key=settings.api_key or "none",
            base_url=f"{base}/v1",
            max_retries=0,  # trying again is the client's business, with all replicas in view
            http_client=self._http,
        )

    async def post(self, path: str, data: bytes, read: Callable[[dict[str, Any], Mapping[str, str]], T]) -> T:
        """One try. Raises TryFailed, or Refused."""
        url = self.base + path
        try:
            raw = await self._library.chat.completions.with_raw_response.create(**json.loads(data))
            return read(json_object(raw.content), raw.headers)
        except openai.APITimeoutError:
            raise TryFailed(f"{url} took longer than {self._seconds:g} s", cause="late") from None
        except openai.APIConnectionError as error:
            why = error.__cause__
            cause = "unreachable" if type(why).__name__ == "ConnectError" else "broken"
            raise TryFailed(f"{url} failed: {one_line(str(why or error))}", cause=cause) from None
        except openai.APIStatusError as error:
            reply = error.response
            raise refusal(url, reply.status_code, reply.headers, reply.content, reply.reason_phrase) from None
        except Malformed as error:
            raise TryFailed(f"{url} sent no valid reply: {error}") from None

    async def close(self) -> None:
        await super().close()
        await self._http.aclose()


def _read(reply: dict[str, Any], _headers: Mapping[str, str]) -> tuple[str, bool, int, int]:
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
    asked, written = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    return text, choice.get("finish_reason") == "length", asked, written
