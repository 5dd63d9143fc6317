"""Hugging Face text-generation-inference, by its own protocol: `tgi://HOST:PORT`, `tgis://` over TLS.

POST /generate takes the raw prompt. It refuses temperature 0 and top_p 1, which are its defaults, and more than four
stop strings; this endpoint applies the others itself. Images precede the prompt as Markdown with data: addresses; a
server with the default --payload-limit accepts requests of 2 MB, that is images of about 1.4 MB. A constraint is sent
as a regular expression in `grammar`. A server with --disable-grammar-support ignores it, so replies are also checked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import ModuleType

from lumos_queue.endpoints.base import RULES, EndpointSettings, ModelCall
from lumos_queue.endpoints.constraints import judge, refuse_search
from lumos_queue.endpoints.finish_reasons import FinishReasons
from lumos_queue.endpoints.http import Http, Malformed
from lumos_queue.endpoints.replies import count
from lumos_queue.endpoints.request_bodies import write_generate
from lumos_queue.endpoints.request_fields import merge_into_control
from lumos_queue.endpoints.server import ServerEndpoint, ServerReply
from lumos_queue.endpoints.vision import data_url
from lumos_queue.errors import EndpointRefused, SpecError
from lumos_queue.records import Completion, Json, JsonObject
from lumos_queue.util.model_loading import import_libraries

#: Fields of GET /info about the model and the server.
IDENTITY = ("model_id", "model_sha", "model_dtype_str", "model_device_type", "version", "sha", "max_total_tokens")


class Tgi(ServerEndpoint):
    """A model on one text-generation-inference server or on several replicas."""

    def __init__(self, url: str, settings: EndpointSettings, first_backoff: float = 0.5):
        super().__init__(url, settings, first_backoff)
        self._finish_reasons = FinishReasons()

    async def generate(self, call: ModelCall) -> Completion:
        refuse_search(self.url, call)
        completion = await self._complete("/generate", write_generate(call, [*map(data_url, call.images)]), call)
        return judge(completion, call.constraint, was_sent=True)

    def _read(self, reply: JsonObject, headers: Mapping[str, str], rules: int = RULES) -> ServerReply:
        """Read a reply. Its headers have the prompt tokens (since 1.4) and the milliseconds in the server's queue."""
        text, details = reply.get("generated_text"), reply.get("details")
        if not isinstance(text, str):
            raise Malformed("no text in 'generated_text'")
        facts: JsonObject = details if isinstance(details, dict) else {}
        notes: list[str] = []
        completion_tokens = count(facts.get("generated_tokens"), "generated_tokens", notes)
        completion_tokens = completion_tokens or count(headers.get("x-generated-tokens"), "x-generated-tokens", notes)
        prompt_tokens = count(headers.get("x-prompt-tokens"), "x-prompt-tokens", notes)
        queue_seconds = count(headers.get("x-queue-time"), "x-queue-time", notes) / 1000
        reason = facts.get("finish_reason")
        is_cut = self._finish_reasons.read(reason, notes)
        has_own_end = reason == "eos_token"
        return ServerReply(
            text, is_cut, prompt_tokens, completion_tokens, tuple(notes), has_own_end=has_own_end, queued=queue_seconds
        )

    def _control(self) -> dict[str, Json]:
        parameters = merge_into_control({"max_new_tokens": 1, "do_sample": False}, self._fields)
        return {"inputs": "1 + 1 =", "parameters": parameters}

    async def _describe(self, http: Http) -> dict[str, Json]:
        library = await asyncio.to_thread(_import_library)
        answer: tuple[int, Json] = await library.read_info(http)
        status, info = answer
        http.check_access(status)
        if status >= 500:
            raise http.not_ready("/info", status)
        if status != 200 or not isinstance(info, dict) or "model_id" not in info:
            line = (
                f"{self.url} is not a text-generation-inference server (GET /info answered {status}): "
                "for vLLM, SGLang, llama.cpp or transformers serve write openai://HOST:PORT."
            )
            raise SpecError(line) if status == 200 else EndpointRefused(line, status=status)
        bound = info.get("max_concurrent_requests")
        if type(bound) is int and bound > 0:
            self.admission.set_bound(bound * len(self._client.replicas.all))
        health = await library.read_health(http)
        if health >= 500:  # another failure is that of a proxy without this path
            raise http.not_ready("/health", health)
        return {"server": "text-generation-inference"} | {name: info[name] for name in IDENTITY if name in info}


def _import_library() -> ModuleType:
    """Return the module that imports the library. A thread calls this, so that requests in flight continue."""
    with import_libraries("lumos_queue.endpoints.tgi_info"):
        from lumos_queue.endpoints import tgi_info

    return tgi_info
