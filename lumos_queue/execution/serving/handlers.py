"""The pages of a virtual API server: POST /virtual, as in StableToolBench, and GET /statistics.

Requests are hostile: bodies are bounded during reception, parsed once with bounds, and never logged.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from dataclasses import asdict

from tornado.http1connection import HTTP1Connection
from tornado.iostream import StreamClosedError
from tornado.web import Application, RequestHandler, stream_request_body

from lumos_queue.execution.serving.answers import Answers, BadRequest
from lumos_queue.records import Json, JsonObject
from lumos_queue.util.connection_limits import ServeLimits
from lumos_queue.util.sanitize import storable
from lumos_queue.util.untrusted_json import read_json

JSON, TEXT = "application/json; charset=UTF-8", "text/plain; charset=UTF-8"


class Page(RequestHandler):
    """The base of all pages. Every error is one line."""

    pages = "POST /virtual, GET /statistics"  #: the existing pages, for the error about another page

    def set_default_headers(self) -> None:
        self.set_header("Server", "lumos-queue")

    async def answer(self, status: int, kind: str, body: str | bytes) -> None:
        """Send a whole reply; close the connection of a client that does not receive it in time."""
        self.set_status(status)
        self.set_header("Content-Type", kind)
        try:
            await asyncio.wait_for(self._send(body), ServeLimits.answer_seconds)
        except StreamClosedError:
            pass  # the client has disconnected
        except TimeoutError:
            connection = self.request.connection
            assert isinstance(connection, HTTP1Connection) and connection.stream is not None
            connection.stream.close()

    def write_error(self, status_code: int, **_: object) -> None:
        """Send the reply to an unknown path or method, or after an internal error. The web framework calls this."""
        self.set_header("Content-Type", TEXT)
        self._send(_ERRORS.get(status_code, f"error {status_code}").format(pages=self.pages) + "\n")

    def _send(self, body: str | bytes) -> asyncio.Future[None]:
        return self.finish(body)  # pyright: ignore[reportUnknownMemberType]  # it may also get a dict without types

    def begin_body(self, max_bytes: int) -> None:
        """Prepare to receive a body in parts. At most `max_bytes` bytes of it are kept."""
        self._max_bytes, self._read, self._received_bytes = max_bytes, bytearray(), 0

    def data_received(self, chunk: bytes) -> None:
        """Keep a received part of the body. If the body is too large, only count its bytes."""
        self._received_bytes += len(chunk)
        if self._received_bytes <= self._max_bytes:
            self._read += chunk
        else:
            self._read.clear()

    def whole_body(self) -> bytes:
        """Return the body. Raises BadRequest if it is too large."""
        if self._received_bytes > self._max_bytes:
            raise BadRequest(f"the body has {self._received_bytes:,} bytes, {self._max_bytes:,} are the most", 413)
        return bytes(self._read)


_ERRORS = {
    404: "there is no such page: {pages}",
    405: "this page takes no such method: {pages}",
    500: "the server has an internal error: see its terminal",
}


@stream_request_body
class Virtual(Page):
    """The page POST /virtual, which answers requests to APIs."""

    def initialize(self, answers: Answers, key: str) -> None:
        self._answers, self._key = answers, key
        self.begin_body(ServeLimits.body_bytes)

    async def post(self) -> None:
        statistics = self._answers.statistics
        statistics.requests += 1
        try:
            request = read_object(self.whole_body(), "category, tool_name, api_name and tool_input")
            body = self._answers.reply(_check_key(request, self._key))
        except BadRequest as error:
            statistics.refused += 1
            await self.answer(error.status, TEXT, f"{error}\n")
        else:
            await self.answer(200, JSON, body)


class Counts(Page):
    """The page GET /statistics, with the numbers of requests by result."""

    def initialize(self, answers: Answers) -> None:
        self._answers = answers

    async def get(self) -> None:
        await self.answer(200, JSON, json.dumps(asdict(self._answers.statistics)))


def log_nothing(_page: RequestHandler) -> None:
    """Log no request: its arguments are hostile."""


def application(answers: Answers, key: str) -> Application:
    """Return the pages as an application. `key`: the `toolbench_key` that requests need; '': they need none."""
    pages = [("/virtual", Virtual, {"answers": answers, "key": key}), ("/statistics", Counts, {"answers": answers})]
    return Application(pages, default_handler_class=_Missing, log_function=log_nothing)


class _Missing(Page):
    """The page of every other path, which answers 404."""

    def prepare(self) -> None:
        self.send_error(404)


def read_object(body: bytes, expectation: str) -> JsonObject:
    """Return the JSON object in a request's body. Raises BadRequest; if it is no object, with `expectation`."""
    try:
        content: Json = read_json(body)
    except ValueError as error:  # also for bytes that are not UTF-8
        raise BadRequest(f"the body is not JSON: {storable(str(error))[0][:200]}") from None
    if not isinstance(content, dict):
        raise BadRequest(f"the body is no JSON object: expected {expectation}")
    return content


def _check_key(request: JsonObject, key: str) -> JsonObject:
    """Return the request. Raises BadRequest unless it has the key. The comparison takes constant time."""
    request_key = request.get("toolbench_key")
    sent_key = storable(request_key)[0] if isinstance(request_key, str) else ""
    if key and not hmac.compare_digest(sent_key.encode(), key.encode()):
        raise BadRequest("'toolbench_key' is not the key of this server", 401)
    return request
