"""The HTTP client of experts on another machine, which runs `lumos serve experts`.

    GET  /experts  ->  {"experts": {NAME: {"digest", "licence", "fidelity", "note"}}}
    POST /run      {"expert", "digest", "inputs": [base64, one for each slot]}
                   ->  {"value": base64}  or  {"problem": {"kind", "message"}}

A request is one sample. A server refuses a request with a digest that its expert does not have (409), so that no job
mixes versions. The control request of endpoints/client.py is {"control": true}; its answer is {"value": ""}.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.endpoints.base import EndpointSettings
from lumos_queue.endpoints.client import Client
from lumos_queue.endpoints.http import Http, Malformed
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import BackendFacts, Fidelity
from lumos_queue.experts.base import Expert
from lumos_queue.experts.check import check_value
from lumos_queue.experts.problems import BAD_INPUT, BAD_OUTPUT, Problem
from lumos_queue.util.addresses import Origin
from lumos_queue.util.sanitize import storable

SCHEMES = ("http", "https")
EXPERTS_PATH, RUN_PATH = "/experts", "/run"
MAX_REQUEST = 16 << 20  #: limit of the body of a request or an answer, in bytes
MAX_VALUES = (MAX_REQUEST - (1 << 16)) // 4 * 3  #: limit of its values, in bytes: base64 makes them longer by a third
FORM = "http://HOST:PORT or https://HOST:PORT"
_MAX_DESCRIPTION = 200  #: characters of each text by which a server describes itself


class RemoteExperts:
    """Calls servers of experts in one event loop. Failed requests are retried; then EndpointDown makes the job wait."""

    def __init__(self, settings: EndpointSettings, first_backoff: float = 0.5):
        self._settings, self._first_backoff = settings, first_backoff
        self._clients: dict[str, Client] = {}

    async def run(self, facts: BackendFacts, inputs: Sequence[Sequence[bytes]]) -> list[bytes | Problem]:
        """Return a result for each sample. `inputs` has a list of samples for each slot of the expert.

        Raises the errors of Client.post.
        """
        client = self._client_of(facts.url)
        return await asyncio.gather(
            *(_run(client, facts, number, sample) for number, sample in enumerate(zip(*inputs, strict=True)))
        )

    async def close(self) -> None:
        """Close the connections."""
        clients, self._clients = list(self._clients.values()), {}
        await asyncio.gather(*(client.close() for client in clients))

    def _client_of(self, url: str) -> Client:
        if url not in self._clients:
            server = Http(url, self._settings)
            self._clients[url] = Client(
                url, [server], self._settings, self._first_backoff, lambda: {"control": True}, lambda reply, _: reply
            )
        return self._clients[url]


async def _run(client: Client, facts: BackendFacts, number: int, sample: Sequence[bytes]) -> bytes | Problem:
    if (size := sum(map(len, sample))) > MAX_VALUES:
        return Problem(BAD_INPUT, f"{size:,} bytes of inputs: at most {MAX_VALUES:,} go to a server")
    body = {
        "expert": facts.expert,
        "digest": facts.digest,
        "inputs": [base64.b64encode(content).decode() for content in sample],
    }
    reply = await client.post(RUN_PATH, body, _read_result, max_bytes=MAX_REQUEST)
    return reply.value if isinstance(reply.value, Problem) else check_value(facts.output, reply.value)


def _read_result(reply: Mapping[str, Any], _headers: Mapping[str, str]) -> bytes | Problem:
    value, problem = reply.get("value"), reply.get("problem")
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise Malformed("a value that is not base64") from None
    if isinstance(problem, dict):
        kind, message = (storable(str(problem.get(name, "")))[0] for name in ("kind", "message"))
        return Problem(kind.split(":")[0][:20] or BAD_OUTPUT, " ".join(message.split())[:_MAX_DESCRIPTION])
    raise Malformed("neither a value nor a problem")


async def describe_server(url: str, settings: EndpointSettings) -> Mapping[str, Any]:
    """Return a server's descriptions of its experts by name, unchecked.

    Raises SpecError if the server serves no experts, and InfrastructureError if it does not answer.
    """
    server = Http(url, settings)
    try:
        status, reply = await server.probe(EXPERTS_PATH)
    finally:
        await server.close()
    descriptions = reply.get("experts") if status == 200 and isinstance(reply, dict) else None
    if not isinstance(descriptions, dict):
        raise SpecError(f"{url} serves no experts (GET {EXPERTS_PATH} answers {status}): start `lumos serve experts`.")
    return descriptions


def check_url(url: str) -> str:
    """Return the address without its last slash. Raises SpecError, without credentials in it, for another address."""
    try:
        fits = url.isprintable() and " " not in url and not set("?#@,\\") & set(url)
        origin = Origin.of(url) if fits else None
    except ValueError:
        origin = None
    if origin is None:
        raise SpecError(
            f"The address of experts cannot be read: expected {FORM}; write a key into the file of LUMOS_API_KEYS."
        )
    return url.rstrip("/")


def read_facts(expert: Expert, url: str, descriptions: Mapping[str, Any]) -> BackendFacts:
    """Return an expert's facts from its server's descriptions. Raises SpecError if it is missing or has no digest."""
    description = descriptions.get(expert.name)
    if not isinstance(description, dict):
        raise SpecError(f"not run: needs {expert.name}, which {url} does not serve.")
    texts = {
        name: storable(str(description.get(name, "")))[0][:_MAX_DESCRIPTION]
        for name in ("digest", "licence", "fidelity", "note")
    }
    if len(texts["digest"]) != 64 or not set(texts["digest"]) <= set("0123456789abcdef"):
        raise SpecError(f"{url} serves {expert.name} without a digest: expected a server of `lumos serve experts`.")
    fidelity = Fidelity.REFERENCE if texts["fidelity"] == Fidelity.REFERENCE else Fidelity.SUBSTITUTE
    return BackendFacts(expert.name, url, texts["digest"], texts["licence"], fidelity, expert.output, texts["note"])
