"""A key goes to its own server and to no other, over TLS or within this machine, and only its owner reads the file."""

from __future__ import annotations

import asyncio
import os

import pytest

from lumos_queue.endpoints import dial
from lumos_queue.endpoints.api_keys import find_key, read_keys
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.errors import InfrastructureError, SpecError, UnclearFailure
from lumos_queue.settings import Settings, read_settings
from lumos_queue.util.addresses import Origin
from tests.fake_endpoint import FakeEndpoint


def keys_in(folder, text: str):
    path = folder / "keys"
    path.touch(0o600)
    path.write_text(text)
    return path


def ask(url: str, **settings) -> str:
    async def once():
        endpoint = open_endpoint(url, Settings(request_retries=0, **settings))
        try:
            return (await endpoint.generate(ModelCall("Hello?", Sampling(), 7))).text
        finally:
            await endpoint.close()

    return asyncio.run(once())


def test_a_key_is_bound_to_scheme_host_and_port(tmp_path):
    path = keys_in(
        tmp_path, "# mine\n\nhttps://API.Example.org  k1\n\thttps://[::1]:8443/ k2\nhttp://127.0.0.1:80 k3\n"
    )
    found = {
        base: find_key(path, base)
        for base in (
            "https://api.example.org",
            "https://api.example.org:443/v1",
            "https://api.example.org.",
            "https://[0::1]:8443",
            "http://127.0.0.1/v1",
            "http://api.example.org",
            "https://api.example.org:8443",
            "https://example.org",
            "https://evil-api.example.org",
            "https://[::1]",
            "https://127.0.0.1",
            "http://localhost",
        )
    }
    assert [key.text if key else None for key in found.values()] == ["k1", "k1", "k1", "k2", "k3", *[None] * 7]
    assert find_key(None, "https://api.example.org") is None


def test_names_are_compared_in_one_spelling(tmp_path):
    path = keys_in(tmp_path, "https://bücher.example k1")
    assert list(read_keys(path)) == [Origin("https", "xn--bcher-kva.example", 443)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("s3cret", "expected an address and a key"),
        ("https://host s3cret 2", "expected an address and a key"),
        ("https://host s3cret Cleartext", "expected an address and a key"),
        ("s3cret https://host", "the address is not http"),
        ("tgi://host s3cret", "the address is not http"),
        ("https://me:s3cret@host k", "the address is not http"),
        ("https://host/s3cret k", "the address is not http"),
        ("https://host:s3cret k", "the address is not http"),
        ("https://host?s3cret k", "the address is not http"),
        ("https:// s3cret", "the address is not http"),
        ("https://host s3crét", "letters, digits and punctuation of ASCII"),
        ("http://10.0.0.5:8080 s3cret", "over http anyone on the way can read the key"),
        ("http://localhost.evil.org s3cret", "over http anyone on the way can read the key"),
        ("https://a:443 s3cret2", "an earlier line has a key for the same server"),
    ],
)
def test_a_wrong_line_is_named_by_its_number_and_never_shown(tmp_path, line, problem):
    path = keys_in(tmp_path, f"# keys\nhttps://a s3cret\n{line}\n")
    with pytest.raises(SpecError, match=rf"LUMOS_API_KEYS, {path}, line 3: .*{problem}") as caught:
        read_keys(path)
    assert "s3cr" not in str(caught.value) and "\n" not in str(caught.value)


def test_clear_text_must_be_asked_for(tmp_path):
    path = keys_in(tmp_path, "http://10.0.0.5:8080 k cleartext\nhttp://localhost:1 k\nhttp://[::1]:1 k\n")
    assert len(read_keys(path)) == 3


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_can_read_is_refused(tmp_path, monkeypatch, mode):
    path = keys_in(tmp_path, "https://host s3cret")
    path.chmod(mode)
    monkeypatch.setenv("LUMOS_API_KEYS", str(path))
    with pytest.raises(SpecError, match=f"Others can read {path}.*run chmod 600 {path}"):
        read_settings()


def test_what_is_not_a_file_of_text_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "bytes").touch(0o600)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name, problem in (
        ("none", "Cannot read"),
        ("pipe", "is a pipe"),
        ("bytes", "not text"),
        ("", "is a folder"),
    ):
        with pytest.raises(SpecError, match=problem):
            read_keys(tmp_path / name)


def test_the_path_is_the_same_from_every_folder(tmp_path, monkeypatch):
    keys_in(tmp_path, "https://host s3cret")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_API_KEYS", "keys")
    settings = read_settings()
    assert settings.api_keys == tmp_path / "keys"
    assert "s3cret" not in repr(settings) + repr(read_keys(settings.api_keys))
    monkeypatch.setenv("LUMOS_API_KEYS", "")
    assert read_settings().api_keys is None


@pytest.mark.parametrize("name", ["LUMOS_API_KEY", "lumos_api_key"])
def test_one_key_for_every_server_is_refused_at_the_start(monkeypatch, name):
    monkeypatch.setenv(name, "s3cret")
    with pytest.raises(SpecError, match=r"LUMOS_API_KEY went to every server.*https://api\.example\.org KEY") as caught:
        read_settings()
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["tgi", "openai", "chat"])
def test_a_server_gets_its_own_key_and_another_gets_none(scheme, tmp_path, monkeypatch):
    """OPENAI_* variables are what the `openai` library sends unless it is kept from that."""
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "hunter2")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/hunter2")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: hunter2\nAuthorization: Bearer hunter2")
    with FakeEndpoint(lambda _: "a", keep_bodies=True) as own, FakeEndpoint(lambda _: "b", keep_bodies=True) as other:
        keys = keys_in(tmp_path, f"http://127.0.0.1:{own.port} s3cret")
        assert ask(getattr(own, scheme), api_keys=keys) == "a"
        assert ask(getattr(other, scheme), api_keys=keys) == "b"
        assert ask(getattr(own, scheme)) == "a"
    assert [b"s3cret" in head for head in own.headers] == [True, False]
    assert b"\r\nAuthorization: Bearer s3cret\r\n" in own.headers[0]
    for head in (*own.headers[1:], *other.headers):
        assert b"authorization" not in head.lower()
    for head in (*own.headers, *other.headers):
        assert b"hunter2" not in head and b"openai" not in head.lower()


def test_a_name_of_this_machine_that_stands_for_another_gets_no_key(tmp_path, monkeypatch):
    async def elsewhere(host: str, port: int):
        return [(2, 1, 6, "", ("10.255.255.1", port))]

    monkeypatch.setattr(dial, "_look_up", elsewhere)
    keys = keys_in(tmp_path, "http://localhost:8080 s3cret")
    with pytest.raises(InfrastructureError, match=r"10\.255\.255\.1 is another machine.*LUMOS_API_KEYS"):
        ask("tgi://localhost:8080", api_keys=keys)


def test_a_server_that_repeats_the_key_does_not_get_it_into_messages(tmp_path):
    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 400 Bad\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(head) + head)
        writer.close()

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        keys = keys_in(tmp_path, f"http://127.0.0.1:{port} s3cret")
        endpoint = open_endpoint(f"tgi://127.0.0.1:{port}", Settings(api_keys=keys))
        with pytest.raises(UnclearFailure) as caught:
            await endpoint.generate(ModelCall("Hello?", Sampling(), 7))
        await endpoint.close()
        server.close()
        return str(caught.value)

    said = asyncio.run(run())
    assert "[the key]" in said and "s3cret" not in said


def test_who_is_refused_is_told_which_line_is_missing_or_wrong(tmp_path):
    async def identity(settings):
        endpoint = open_endpoint(f"tgi://127.0.0.1:{port}", settings)
        try:
            return await endpoint.identity()
        finally:
            await endpoint.close()

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    async def run(**settings):
        nonlocal port
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        keys = keys_in(tmp_path, f"http://127.0.0.1:{port} s3cret")
        common = {"request_seconds": 5.0, "request_retries": 0, "endpoint_hosts": "", "concurrency": 2}
        with pytest.raises(SpecError, match=rf"http://127\.0\.0\.1:{port} wants a key \(401\).*LUMOS_API_KEYS"):
            await identity(Settings(api_keys=None, **common))
        with pytest.raises(SpecError, match=rf"http://127\.0\.0\.1:{port} refuses the key \(401\)"):
            await identity(Settings(api_keys=keys, **common))
        server.close()

    port = 0
    asyncio.run(run())
