"""Experts over HTTP in one process: what a server refuses, and what a client makes of a server that lies."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from lumos_queue.errors import SpecError
from lumos_queue.execution.serving.answers import BadRequest
from lumos_queue.execution.serving.experts import ServedExperts, expert_pages
from lumos_queue.experts.backends import remote
from lumos_queue.experts.backends.base import BackendFacts, Fidelity
from lumos_queue.experts.backends.oracle import oracle_facts
from lumos_queue.experts.backends.remote_server import MAX_REQUEST, MAX_VALUES, RemoteExperts, describe_server
from lumos_queue.experts.base import Kind
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.host import ExpertHost
from lumos_queue.experts.problems import Problem
from lumos_queue.settings import Settings
from tests.expert_models import facts
from tests.fake_expert_host import FakeExpertHost, fake_facts

FILL = "Fill Mask"
SERVED = fake_facts(FILL)


def serve_fill(answer: Callable[[bytes], bytes | Problem] = bytes.upper) -> ServedExperts:
    return ServedExperts({FILL: SERVED}, FakeExpertHost({FILL: answer}))  # type: ignore[arg-type]


def ask_fill(text: bytes = b"a", **changes: Any) -> dict[str, Any]:
    return {"expert": FILL, "digest": SERVED.digest, "inputs": [base64.b64encode(text).decode()], **changes}


def test_a_sample_is_run_and_counted():
    served = serve_fill()
    assert asyncio.run(served.run(ask_fill())) == {"value": base64.b64encode(b"A").decode()}
    assert asyncio.run(served.run({"control": True})) == {"value": ""}
    assert (served.counts.values, served.counts.controls) == (1, 1)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"digest": "0" * 64}, 409),
        ({"digest": None}, 409),
        ({"expert": "Image Denoising"}, 404),
        ({"expert": [FILL]}, 404),
        ({"inputs": []}, 400),
        ({"inputs": ["YQ==", "YQ=="]}, 400),
        ({"inputs": "YQ=="}, 400),
        ({"inputs": "Y"}, 400),
        ({"inputs": [1]}, 400),
        ({"inputs": ["Y Q = ="]}, 400),
        ({"inputs": ["é"]}, 400),
        ({"control": 1, "expert": None}, 404),
    ],
)
def test_what_is_no_request_for_an_expert_that_is_here_is_refused(changes, status):
    served = serve_fill()
    with pytest.raises(BadRequest) as raised:
        asyncio.run(served.run(ask_fill(**changes)))
    assert raised.value.status == status and "\n" not in str(raised.value)
    assert not served.host.spans and not served.counts.values  # type: ignore[attr-defined]


def test_a_value_that_is_too_large_for_a_reply_and_a_problem_are_problems():
    for answer, kind in ((b"x" * (MAX_VALUES + 1), "bad_output"), (Problem("died", "killed"), "died")):
        served = serve_fill(lambda text, answer=answer: answer)
        assert asyncio.run(served.run(ask_fill()))["problem"]["kind"] == kind
        assert (served.counts.problems, served.counts.values) == (1, 0)
    assert "value" in asyncio.run(serve_fill(lambda text: b"x" * MAX_VALUES).run(ask_fill()))


def test_neither_oracles_nor_nothing_is_served():
    for given, told in (({FILL: oracle_facts(EXPERTS[FILL])}, "Oracles run where"), ({}, "no expert to serve")):
        with pytest.raises(SpecError, match=told):
            ServedExperts(given, ExpertHost())


# --- over HTTP


def over_http(pages: Application, use: Callable[[str], Awaitable[Any]]) -> Any:
    """What `use` makes of the address of a server with these pages."""

    async def main() -> Any:
        socket, port = bind_unused_port(address="127.0.0.1")
        server = HTTPServer(pages, max_body_size=1 << 30)
        server.add_socket(socket)
        try:
            return await use(f"http://127.0.0.1:{port}")
        finally:
            server.stop()
            await server.close_all_connections()

    return asyncio.run(main())


async def send(url: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    method = "GET" if body is None else "POST"
    try:
        reply = await AsyncHTTPClient().fetch(HTTPRequest(url, method, headers, body, request_timeout=20))
    except HTTPClientError as error:
        assert error.response is not None
        return error.code, error.response.body.decode()
    return reply.code, reply.body.decode()


@pytest.mark.parametrize(
    "given", ["", "Bearer ", "Bearer hus", "Bearer hushh", "hush", "bearer hush", "Bearer h\xfcsh"]
)
def test_without_the_key_nothing_is_told_and_nothing_run(given):
    served = serve_fill()

    async def use(url: str) -> list[int]:
        body = json.dumps(ask_fill()).encode()
        headers = {"Authorization": given} if given else {}
        refused = [(await send(f"{url}/experts", **headers))[0], (await send(f"{url}/run", body, **headers))[0]]
        return [*refused, (await send(f"{url}/run", body, Authorization="Bearer hush"))[0]]

    assert over_http(expert_pages(served, "hush"), use) == [401, 401, 200]
    assert (served.counts.requests, served.counts.refused, served.counts.values) == (2, 1, 1)


def test_an_expert_that_cannot_be_loaded_is_a_failure_of_the_server():
    served = ServedExperts({FILL: facts("CannotLoad")}, ExpertHost())

    async def use(url: str) -> tuple[int, str]:
        body = ask_fill(digest=facts("CannotLoad").digest)
        try:
            return await send(f"{url}/run", json.dumps(body).encode())
        finally:
            await served.host.close()

    status, line = over_http(expert_pages(served, ""), use)
    assert status == 503 and "no weights here" in line and line.count("\n") == 1
    assert (served.counts.failed, served.counts.refused) == (1, 0)


def test_a_body_that_is_too_large_is_not_read():
    served = serve_fill()
    status, line = over_http(expert_pages(served, ""), lambda url: send(f"{url}/run", b"x" * (MAX_REQUEST + 1)))
    assert status == 413 and line.count("\n") == 1 and served.counts.refused == 1


class Liar(RequestHandler):
    """Answers what it was told to."""

    def initialize(self, status: int, reply: Any, asked: list) -> None:
        self._status, self._reply, self._asked = status, reply, asked

    async def get(self) -> None:
        self._asked.append(None)
        self.set_status(self._status)
        await self.finish(json.dumps(self._reply))

    async def post(self) -> None:
        self._asked.append(json.loads(self.request.body))
        await self.finish(json.dumps(self._reply))


def run_against(reply: Any, output: Kind = Kind.TEXT, sample: bytes = b"a") -> tuple[Any, list]:
    asked: list = []

    async def use(url: str) -> Any:
        experts = RemoteExperts(Settings(request_retries=0), first_backoff=0.01)
        served = BackendFacts(FILL, url, "d" * 64, "MIT", Fidelity.SUBSTITUTE, output)
        try:
            (result,) = await experts.run(served, [[sample]])
        finally:
            await experts.close()
        return result

    pages = Application([("/.*", Liar, {"status": 200, "reply": reply, "asked": asked})])
    return over_http(pages, use), asked


def test_a_server_is_asked_for_the_very_version_that_was_submitted():
    made, asked = run_against({"value": "YQ=="})
    assert made == b"a" and asked == [{"expert": FILL, "digest": "d" * 64, "inputs": ["YQ=="]}]


@pytest.mark.parametrize(
    ("value", "output"), [(b"a text", Kind.IMAGE), (b"\xff", Kind.TEXT), (b"x" * 60_001, Kind.TEXT)]
)
def test_what_a_server_answers_is_of_the_type_of_the_expert(value, output):
    made, _ = run_against({"value": base64.b64encode(value).decode()}, output)
    assert isinstance(made, Problem) and made.kind == "bad_output"


def test_a_sample_that_is_too_large_is_not_sent():
    made, asked = run_against({"value": "YQ=="}, sample=b"x" * (MAX_VALUES + 1))
    assert isinstance(made, Problem) and made.kind == "bad_input" and not asked


@pytest.mark.parametrize(
    ("status", "reply"), [(404, {"experts": {}}), (200, {"experts": []}), (200, []), (200, {"other": 1})]
)
def test_a_server_that_describes_no_experts_is_refused(status, reply):
    pages = Application([("/.*", Liar, {"status": status, "reply": reply, "asked": []})])
    with pytest.raises(SpecError, match="serves no experts"):
        over_http(pages, lambda url: describe_server(url, Settings()))


def test_a_server_is_asked_once_for_all_its_experts_and_again_later(monkeypatch):
    told = {name: {"digest": "a" * 64} for name in ("Fill Mask", "Text Generation")}
    asked: list = []

    async def use(url: str) -> None:
        for name in told:
            assert (await asyncio.to_thread(remote.find, name, url)).digest == "a" * 64
        assert len(asked) == 1
        monkeypatch.setattr(remote, "FRESH_SECONDS", 0.0)
        await asyncio.to_thread(remote.find, FILL, url)
        assert len(asked) == 2

    over_http(Application([("/.*", Liar, {"status": 200, "reply": {"experts": told}, "asked": asked})]), use)
