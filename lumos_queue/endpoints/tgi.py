"""Hugging Face text-generation-inference, by its own protocol: `tgi://HOST:PORT`, `tgis://` over TLS.

POST /generate takes the raw prompt. It refuses temperature 0 and top_p 1, which are its defaults, and more than four
stop strings; the rest are cut on our side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.endpoints.base import EndpointSettings, Sampling
from lumos_queue.endpoints.http import Http, Malformed
from lumos_queue.endpoints.replies import completion, count
from lumos_queue.errors import SpecError
from lumos_queue.records import Completion

#: Fields of GET /info that say which model answers and how.
IDENTITY = ("model_id", "model_sha", "model_dtype_str", "model_device_type", "version", "sha", "max_total_tokens")


class Tgi:
    """One text-generation-inference server."""

    def __init__(self, url: str, base: str, settings: EndpointSettings, first_backoff: float = 0.5):
        self.url = url
        self._http = Http(base, settings, first_backoff)

    async def generate(self, prompt: str, sampling: Sampling, seed: int) -> Completion:
        parameters: dict[str, Any] = {"max_new_tokens": sampling.max_tokens, "details": True}
        if sampling.stop:
            parameters["stop"] = sampling.stop[:4]
        if sampling.temperature > 0:
            parameters |= {"do_sample": True, "temperature": sampling.temperature, "seed": seed % 2**31}
            if sampling.top_p < 1:
                parameters["top_p"] = sampling.top_p
        else:
            parameters["do_sample"] = False
        body = {"inputs": prompt, "parameters": parameters}
        (text, truncated, asked, written), seconds, retries = await self._http.post("/generate", body, _read)
        return completion(
            text,
            sampling.stop,
            truncated=truncated,
            prompt_tokens=asked,
            completion_tokens=written,
            seconds=seconds,
            retries=retries,
        )

    async def identity(self) -> dict[str, Any]:
        status, info = await self._http.probe("/info")
        if status != 200 or not isinstance(info, dict) or "model_id" not in info:
            raise SpecError(
                f"{self.url} is no text-generation-inference server (GET /info answered {status}): "
                "for vLLM, SGLang, llama.cpp or transformers serve write openai://HOST:PORT."
            )
        return {"server": "text-generation-inference"} | {name: info[name] for name in IDENTITY if name in info}

    async def close(self) -> None:
        await self._http.close()


def _read(reply: dict[str, Any], headers: Mapping[str, str]) -> tuple[str, bool, int, int]:
    """Text, whether the token limit ended it, and the tokens of prompt and reply.

    The number of prompt tokens travels in a header (since 1.4); 0 where it does not.
    """
    text, details = reply.get("generated_text"), reply.get("details")
    if not isinstance(text, str):
        raise Malformed("no text in 'generated_text'")
    if not isinstance(details, dict):
        details = {}
    written = count(details.get("generated_tokens")) or count(headers.get("x-generated-tokens"))
    return text, details.get("finish_reason") == "length", count(headers.get("x-prompt-tokens")), written
