"""What is asked of text-generation-inference through huggingface_hub: the library never decides where, or with what."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys

import pytest

from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.errors import EndpointDown, SpecError
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.hostile import SCRIPTS, HostileServer


def identify(url: str, **settings) -> dict:
    async def once():
        endpoint = open_endpoint(url, Settings(**settings))
        try:
            return await endpoint.identity()
        finally:
            await endpoint.close()

    return asyncio.run(asyncio.wait_for(once(), 60))


class Server:
    """Answers each path with the bytes written down for it, once for each connection; keeps the heads of requests."""

    def __init__(self, **replies: bytes):
        self.replies, self.heads = replies, []

    async def __aenter__(self) -> Server:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_) -> None:
        self._server.close()

    async def _serve(self, reader, writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        writer.write(self.replies[head.split()[1].decode().strip("/").replace("/", "_")])
        writer.close()


def reply(status: int, body: bytes = b"{}", headers: str = "") -> bytes:
    return (
        b"HTTP/1.1 %d -\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n"
        % (
            status,
            headers.encode(),
            len(body),
        )
        + body
    )


def asked(path: str = "", settings: dict | None = None, **replies: bytes):
    """The identity that a server with these replies has, or the error; and the heads of what it was asked."""

    async def run():
        async with Server(**replies) as server:
            endpoint = open_endpoint(f"tgi://127.0.0.1:{server.port}{path}", Settings(**(settings or {})))
            try:
                return await endpoint.identity(), server.heads
            except SpecError as error:
                return error, server.heads
            finally:
                await endpoint.close()

    return asyncio.run(run())


def test_the_variables_of_the_library_change_nothing(monkeypatch, tmp_path):
    """Not the person's token, not a proxy, not another address, not 'offline': the same bytes go to the same server."""
    (tmp_path / "token").write_text("hunter2")
    for name, value in {
        "HF_TOKEN": "hunter2",
        "HF_HOME": str(tmp_path),
        "HF_HUB_OFFLINE": "1",
        "HF_DEBUG": "1",
        "HF_ENDPOINT": "http://127.0.0.1:1",
        "HF_INFERENCE_ENDPOINT": "http://127.0.0.1:1",
        "HTTP_PROXY": "http://127.0.0.1:1",
        "HTTPS_PROXY": "http://127.0.0.1:1",
        "ALL_PROXY": "http://127.0.0.1:1",
    }.items():
        monkeypatch.setenv(name, value)
    program = (
        "import asyncio, sys\n"
        "from lumos_queue.endpoints.registry import open_endpoint\n"
        "from lumos_queue.settings import Settings\n"
        "print(asyncio.run(open_endpoint(sys.argv[1], Settings()).identity()))\n"
    )

    async def run():
        async with Server(info=reply(200, b'{"model_id": "m"}'), health=reply(200)) as server:
            url = f"tgi://127.0.0.1:{server.port}"
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", program, url, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            out, errors = await process.communicate()
            return out.decode(), errors.decode(), server.heads

    out, errors, heads = asyncio.run(run())
    assert "'model_id': 'm'" in out and not errors
    assert [head.split()[1] for head in heads] == [b"/info", b"/health"]
    for head in heads:
        assert b"hunter2" not in head and b"none" not in head and b"authorization" not in head.lower()
        assert b"hugging" not in head.lower() and b"hf_hub" not in head.lower() and b"server.invalid" not in head


def test_the_servers_own_key_is_sent_and_a_prefix_is_kept(tmp_path):
    async def run():
        async with Server(gpu_info=reply(200, b'{"model_id": "m"}'), gpu_health=reply(200)) as server:
            keys = tmp_path / "keys"
            keys.touch(0o600)
            keys.write_text(f"http://127.0.0.1:{server.port} s3cret")
            endpoint = open_endpoint(f"tgi://127.0.0.1:{server.port}/gpu", Settings(api_keys=keys))
            known = await endpoint.identity()
            await endpoint.close()
            return known, server.heads

    known, heads = asyncio.run(run())
    assert known == {"server": "text-generation-inference", "model_id": "m"}
    assert [b"\r\nAuthorization: Bearer s3cret\r\n" in head for head in heads] == [True, True]


def test_a_redirect_is_not_followed():
    with FakeEndpoint(lambda _: "fine") as elsewhere:
        to = f"Location: http://127.0.0.1:{elsewhere.port}/info\r\n"
        error, heads = asked(info=reply(302, b"", to))
        assert elsewhere.connections == set() and len(heads) == 1
    assert isinstance(error, EndpointDown) and error.status == 302


@pytest.mark.parametrize("body", [b"[" * 100_000, b"<html>", b"[]", b'"model_id"', b'{"model": 1}', b"\xff\xfe{}", b""])
def test_what_is_not_the_description_of_a_model_is_one_line(body):
    error, _ = asked(info=reply(200, body))
    assert isinstance(error, SpecError) and "text-generation-inference" in str(error) and "\n" not in str(error)


def test_what_a_server_says_of_a_failure_reaches_no_message_of_the_library(caplog):
    said = "X-Error-Message: trust me\r\nX-HF-Warning: a; trust me\r\nX-Error-Code: RepoNotFound\r\n"
    error, _ = asked(info=reply(404, b'{"error": "trust me"}', said))
    assert isinstance(error, EndpointDown) and error.status == 404
    assert "trust me" not in str(error) + caplog.text


def test_no_log_names_a_server_that_does_not_exist(caplog):
    caplog.set_level(logging.DEBUG)
    known, _ = asked(info=reply(200, b'{"model_id": "m"}'), health=reply(200))
    assert known["model_id"] == "m" and ".invalid" not in caplog.text


@pytest.mark.parametrize(("status", "well"), [(200, True), (404, True), (429, True), (500, False), (503, False)])
def test_a_server_whose_health_check_fails_is_left_out(status, well):
    info = reply(200, b'{"model_id": "m"}')
    known, _ = asked(info=info, health=reply(status))
    assert (
        known == {"server": "text-generation-inference", "model_id": "m"}
        if well
        else f"GET /health answered {status}" in str(known)
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_question_ends_in_time(name):
    with HostileServer(SCRIPTS[name]) as server, pytest.raises(SpecError) as caught:
        identify(f"tgi://127.0.0.1:{server.port}", request_seconds=0.5)
    assert "\n" not in str(caught.value)


def test_the_library_is_imported_when_a_server_is_first_asked():
    program = (
        "import sys, lumos_queue.endpoints.tgi, lumos_queue.cli.main\n"
        "assert 'huggingface_hub' not in sys.modules and 'httpx2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
