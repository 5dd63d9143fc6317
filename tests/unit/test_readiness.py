"""A server whose model is loading: it is waited for when a job is submitted, and not by whoever only asks about it."""

from __future__ import annotations

import asyncio
import re

import pytest

from lumos_queue.cli.doctor import examine
from lumos_queue.errors import EndpointNotReady, SpecError
from lumos_queue.settings import Settings
from lumos_queue.submission import readiness
from lumos_queue.submission.agents import identify
from tests.fake_endpoint import FakeEndpoint

SCHEMES = ("chat", "openai", "tgi")
SETTINGS = Settings(request_retries=0)


@pytest.fixture
def server():
    with FakeEndpoint(lambda prompt: "fine", loading=True) as loading:
        yield loading


@pytest.fixture
def soon(monkeypatch):
    """It is asked again after hundredths of a second."""
    monkeypatch.setattr(readiness, "PAUSE_SECONDS", 0.01)


def ask(*urls: str, remark=None) -> dict:
    return asyncio.run(identify(set(urls), SETTINGS, remark))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_loading_model_is_named_as_the_reason(server, scheme):
    path = "/info" if scheme == "tgi" else "/health"
    with pytest.raises(EndpointNotReady) as caught:
        ask(getattr(server, scheme))
    line = f"http://127.0.0.1:{server.port} is not ready: its model is loading (GET {path} answered 503)"
    assert (str(caught.value), caught.value.status) == (line, 503)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_is_waited_for_with_one_line(server, scheme, soon):
    lines: list[str] = []
    asked: list[str] = []
    answer = server.about

    def about(path: str) -> tuple[int, object]:
        asked.append(path)
        server.loading = len(asked) < 20
        return answer(path)

    server.about = about
    (identity,) = ask(getattr(server, scheme), remark=lines.append).values()
    assert "fake" in (identity.get("model"), identity.get("model_id"))
    (line,) = lines
    assert line.startswith(f"waits: http://127.0.0.1:{server.port} is not ready: its model is loading (GET /")


def test_a_server_of_tgi_without_health_is_waited_for(soon):
    with FakeEndpoint(lambda prompt: "fine", health=503) as server:
        lines: list[str] = []

        def heal(line: str) -> None:
            lines.append(line)
            server.health = 200

        (identity,) = ask(server.tgi, remark=heal).values()
        assert identity["model_id"] == "fake"
        assert lines == [
            f"waits: http://127.0.0.1:{server.port} is not ready: its model is loading (GET /health answered 503)"
        ]


def test_the_failing_list_of_models_is_named():
    with FakeEndpoint(lambda prompt: "fine", health=404) as server:
        answer = server.about
        server.about = lambda path: (502, {}) if path == "/v1/models" else answer(path)
        with pytest.raises(EndpointNotReady, match=re.escape("is not ready: GET /v1/models answered 502")):
            ask(server.openai)


def test_waiting_ends_in_one_line(server, soon, monkeypatch):
    monkeypatch.setattr(readiness, "WAIT_SECONDS", 0.06)
    lines: list[str] = []
    with pytest.raises(SpecError) as caught:
        ask(server.chat, remark=lines.append)
    assert not isinstance(caught.value, EndpointNotReady)
    assert len(lines) == 1
    assert str(caught.value) == (
        f"{lines[0].removeprefix('waits: ')}, after a wait of 0.06 s: submit again when it is ready."
    )


def test_other_failures_are_not_waited_for(server, soon):
    lines: list[str] = []
    server.loading = False
    with FakeEndpoint(lambda prompt: "fine") as stopped:
        pass
    with pytest.raises(SpecError, match=r"nothing answers at .*start the server or correct the URL"):
        ask(stopped.chat, remark=lines.append)
    with pytest.raises(SpecError, match="has no such model"):
        ask(server.chat.replace("=fake", "=other"), remark=lines.append)
    server.health, server.models = 404, []
    with pytest.raises(SpecError, match="is not a server of the OpenAI protocol"):
        ask(server.chat, remark=lines.append)
    assert lines == []


def test_a_replica_that_is_ready_is_enough(server):
    with FakeEndpoint(lambda prompt: "fine") as ready:
        (identity,) = ask(f"openai://127.0.0.1:{server.port},127.0.0.1:{ready.port}?model=fake").values()
    assert identity["model"] == "fake"


def test_replicas_of_which_one_is_loading_are_waited_for(server, soon):
    with FakeEndpoint(lambda prompt: "fine") as stopped:
        pass
    lines: list[str] = []

    def heal(line: str) -> None:
        lines.append(line)
        server.loading = False

    ask(f"openai://127.0.0.1:{stopped.port},127.0.0.1:{server.port}?model=fake", remark=heal)
    assert len(lines) == 1 and f"127.0.0.1:{server.port} is not ready" in lines[0]


def test_doctor_does_not_wait(server):
    (finding,) = [finding for finding in examine(SETTINGS, [server.chat]) if finding.what == "endpoint"]
    assert finding.fine is False
    assert finding.found.endswith("is not ready: its model is loading (GET /health answered 503)")
