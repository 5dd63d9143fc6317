"""The pages of a server of experts: GET /experts and POST /run, for experts/backends/remote_server.py.

Experts run in their own processes, as those of a worker do. Requests are hostile: bodies are bounded during reception,
and never logged.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tornado.web import Application, stream_request_body

from lumos_queue.errors import ActionError, SpecError
from lumos_queue.execution.serving.answers import BadRequest
from lumos_queue.execution.serving.handlers import JSON, TEXT, Page, log_nothing, read_object
from lumos_queue.experts.backends.base import BackendFacts, Fidelity
from lumos_queue.experts.backends.chat import is_chat
from lumos_queue.experts.backends.remote_server import EXPERTS_PATH, MAX_REQUEST, MAX_VALUES, RUN_PATH
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.host import ExpertHost
from lumos_queue.experts.problems import BAD_OUTPUT, Problem
from lumos_queue.records import JsonObject


@dataclass(slots=True)
class RunCounts:
    """Numbers of requests by result; `requests` is the sum of all others."""

    requests: int = 0
    values: int = 0
    problems: int = 0  #: samples for which an expert failed
    controls: int = 0
    refused: int = 0  #: not a request of this interface, without the key, or for an unknown expert
    failed: int = 0  #: the expert could not be loaded

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in asdict(self).items() if count or name == "requests")


class ServedExperts:
    """The experts of a server, and their answers."""

    def __init__(self, facts: Mapping[str, BackendFacts], host: ExpertHost):
        """Raises SpecError if there is no expert, or if one is an oracle, which needs the originals of its inputs."""
        if any(backend.fidelity == Fidelity.ORACLE for backend in facts.values()):
            raise SpecError(
                "Oracles run where the originals of their inputs are, which a server does not have: serve own, hf, or "
                "a package."
            )
        if chat_names := [name for name, backend in facts.items() if is_chat(backend.url)]:
            raise SpecError(
                f"{chat_names[0]} is a chat model, which jobs ask themselves, so that each call is recorded: give its "
                "address to the job, as --tool experts=chat://HOST:PORT?model=NAME."
            )
        if not facts:
            raise SpecError(
                "There is no expert to serve: none of the chosen experts (by default hf, the paper's checkpoints) can "
                "run here. Choose others, e.g. --tool experts=own or --tool image-captioning=hf:PATH"
            )
        self.facts, self.host, self.counts = facts, host, RunCounts()

    def describe(self) -> JsonObject:
        """Return the reply to GET /experts."""
        field_names = ("digest", "licence", "fidelity", "note")
        return {
            "experts": {
                name: {key: getattr(backend, key) for key in field_names} for name, backend in self.facts.items()
            }
        }

    async def run(self, request: JsonObject) -> JsonObject:
        """Return the reply to POST /run. Raises BadRequest."""
        if request.get("control") is True:
            self.counts.controls += 1
            return {"value": ""}
        facts = self._find(request)
        inputs = _inputs(request, len(EXPERTS[facts.expert].slots))
        try:
            (result,) = await self.host.run(facts, [[content] for content in inputs])
        except ActionError as error:
            raise BadRequest(str(error), 503) from None
        if not isinstance(result, Problem) and len(result) > MAX_VALUES:
            result = Problem(BAD_OUTPUT, f"{len(result):,} bytes: at most {MAX_VALUES:,} go over the network")
        if isinstance(result, Problem):
            self.counts.problems += 1
            return {"problem": asdict(result)}
        self.counts.values += 1
        return {"value": base64.b64encode(result).decode()}

    def _find(self, request: JsonObject) -> BackendFacts:
        name = request.get("expert")
        if not isinstance(name, str) or name not in self.facts:
            raise BadRequest(f"'expert' is none of {', '.join(self.facts)}", 404)
        if request.get("digest") != self.facts[name].digest:
            raise BadRequest(
                f"this {name} is not the one that the job was submitted with: restore it, or submit again",
                409,
            )
        return self.facts[name]


def _inputs(request: JsonObject, slots: int) -> list[bytes]:
    inputs = request.get("inputs")
    texts = [text for text in inputs if isinstance(text, str)] if isinstance(inputs, list) else []
    if not isinstance(inputs, list) or len(inputs) != slots or len(texts) != slots:
        raise BadRequest(f"'inputs' is no list of {slots} texts in base64")
    try:
        return [base64.b64decode(text, validate=True) for text in texts]
    except (binascii.Error, ValueError):
        raise BadRequest("'inputs' has a text that is not base64") from None


class _ExpertsPage(Page):
    """The base of these pages. The key of a request is the bearer token in the header Authorization."""

    pages = f"GET {EXPERTS_PATH}, POST {RUN_PATH}"

    def initialize(self, experts: ServedExperts, key: str) -> None:
        self._experts, self._key = experts, key

    def check_key(self) -> None:
        """Raise BadRequest unless the request has the server's key. The comparison takes constant time."""
        header = self.request.headers.get("Authorization", "")
        if self._key and not hmac.compare_digest(header.encode(), f"Bearer {self._key}".encode()):
            raise BadRequest("the key of this server is missing: send it as Authorization: Bearer KEY", 401)


class _Description(_ExpertsPage):
    async def get(self) -> None:
        try:
            self.check_key()
        except BadRequest as error:
            await self.answer(error.status, TEXT, f"{error}\n")
        else:
            await self.answer(200, JSON, json.dumps(self._experts.describe()))


@stream_request_body
class _RunPage(_ExpertsPage):
    def initialize(self, experts: ServedExperts, key: str) -> None:
        super().initialize(experts, key)
        self.begin_body(MAX_REQUEST)

    async def post(self) -> None:
        counts = self._experts.counts
        counts.requests += 1
        try:
            self.check_key()
            reply = await self._experts.run(read_object(self.whole_body(), "expert, digest and inputs"))
        except BadRequest as error:
            if error.status == 503:
                counts.failed += 1
            else:
                counts.refused += 1
            await self.answer(error.status, TEXT, f"{error}\n")
        else:
            await self.answer(200, JSON, json.dumps(reply))


def expert_pages(experts: ServedExperts, key: str) -> Application:
    """Return the pages as an application. `key`: the key that requests need; '': they need none."""
    arguments = {"experts": experts, "key": key}
    pages = [(EXPERTS_PATH, _Description, arguments), (RUN_PATH, _RunPage, arguments)]
    return Application(
        pages, default_handler_class=_OtherPath, default_handler_args=arguments, log_function=log_nothing
    )


class _OtherPath(_ExpertsPage):
    """The page of every other path, which answers 404."""

    def prepare(self) -> None:
        self.send_error(404)
