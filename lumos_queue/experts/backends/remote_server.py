"""Experts of another machine, over HTTP: what `lumos serve experts` serves.

    GET  /experts  ->  {"experts": {NAME: {"digest", "licence", "fidelity", "note"}}}
    POST /run      {"expert", "digest", "inputs": [base64, one for each slot]}
                   ->  {"value": base64}  or  {"problem": {"kind", "message"}}

A request is one sample. A server whose expert has another digest than was asked for refuses (409), so that no job mixes
versions. A control (endpoints/client.py) is {"control": true}, and is answered {"value": ""}.
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
MAX_REQUEST = 16 << 20  #: bytes of a body, either way
MAX_VALUES = (MAX_REQUEST - (1 << 16)) // 4 * 3  #: bytes of the values in it, which base64 makes longer by a third
FORM = "http://HOST:PORT or https://HOST:PORT"
_TOLD = 200  #: characters of what a server says about itself


class RemoteExperts:
    """The servers that one event loop asks. A server that fails is tried again; then its job waits (EndpointDown)."""

    def __init__(self, settings: EndpointSettings, first_backoff: float = 0.5):
        self._settings, self._first_backoff = settings, first_backoff
        self._clients: dict[str, Client] = {}

    async def run(self, facts: BackendFacts, inputs: Sequence[Sequence[bytes]]) -> list[bytes | Problem]:
        """A result for each sample. `inputs`: for each slot of the expert a list over the samples.

        Raises as Client.post.
        """
        client = self._client_of(facts.url)
        return await asyncio.gather(
            *(_run(client, facts, number, sample) for number, sample in enumerate(zip(*inputs, strict=True)))
        )

    async def close(self) -> None:
        """End the connections."""
        clients, self._clients = list(self._clients.values()), {}
        await asyncio.gather(*(one.close() for one in clients))

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
        "inputs": [base64.b64encode(one).decode() for one in sample],
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
        return Problem(kind.split(":")[0][:20] or BAD_OUTPUT, " ".join(message.split())[:_TOLD])
    raise Malformed("neither a value nor a problem")


async def describe_server(url: str, settings: EndpointSettings) -> Mapping[str, Any]:
    """What a server says of its experts, by name, unchecked. Raises SpecError; InfrastructureError if none answers."""
    server = Http(url, settings)
    try:
        status, told = await server.probe(EXPERTS_PATH)
    finally:
        await server.close()
    found = told.get("experts") if status == 200 and isinstance(told, dict) else None
    if not isinstance(found, dict):
        raise SpecError(f"{url} serves no experts (GET {EXPERTS_PATH} answers {status}): start `lumos serve experts`.")
    return found


def check_url(url: str) -> str:
    """The address without its last slash. Raises SpecError; its message repeats no credentials."""
    try:
        fits = url.isprintable() and " " not in url and not set("?#@,\\") & set(url)
        origin = Origin.of(url) if fits else None
    except ValueError:
        origin = None
    if origin is None:
        raise SpecError(
            f"The address of experts cannot be read: expected {FORM}; a key belongs into the file of LUMOS_API_KEYS."
        )
    return url.rstrip("/")


def read_facts(expert: Expert, url: str, told: Mapping[str, Any]) -> BackendFacts:
    """The facts of an expert from what its server says. Raises SpecError: 'not run: needs …'."""
    one = told.get(expert.name)
    if not isinstance(one, dict):
        raise SpecError(f"not run: needs {expert.name}, which {url} does not serve.")
    said = {name: storable(str(one.get(name, "")))[0][:_TOLD] for name in ("digest", "licence", "fidelity", "note")}
    if len(said["digest"]) != 64 or not set(said["digest"]) <= set("0123456789abcdef"):
        raise SpecError(f"{url} serves {expert.name} without a digest: it is no server of this program.")
    fidelity = Fidelity.REFERENCE if said["fidelity"] == Fidelity.REFERENCE else Fidelity.SUBSTITUTE
    return BackendFacts(expert.name, url, said["digest"], said["licence"], fidelity, expert.output, said["note"])
