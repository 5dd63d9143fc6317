"""chat://: framed text becomes messages, and failures of a real server mean what they mean at other endpoints."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import check_url, open_endpoint
from lumos_queue.errors import EndpointDown, EpisodeError, InfrastructureError, SpecError, UnclearFailure
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint

FRAMED = "<|system|>\nBe brief.\n<|user|>\nOne?\n<|assistant|>\n1</s>\n<|user|>\nTwo?\n<|assistant|>\n"
SAMPLING = Sampling(max_tokens=20, stop=())


def ask(url: str, *prompts: str, sampling: Sampling = SAMPLING, **settings):
    """The completions of prompts asked one after the other, then the number of requests in flight."""

    async def run():
        endpoint = open_endpoint(url, Settings(**settings))
        endpoint._client._first_backoff = 0.01  # type: ignore[attr-defined]
        try:
            replies = [await endpoint.generate(ModelCall(prompt, sampling, 7)) for prompt in prompts]
            return replies, endpoint.admission.in_flight
        finally:
            await endpoint.close()

    return asyncio.run(run())


def test_framed_text_becomes_messages():
    from lumos_queue.endpoints.chat_messages import chat_messages

    assert chat_messages(FRAMED) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "Two?"},
    ]
    assert chat_messages("Plain text.") == [{"role": "user", "content": "Plain text."}]
    assert chat_messages("In a <|user|>\nline") == [{"role": "user", "content": "In a <|user|>\nline"}]


def test_a_server_is_sent_messages_and_the_key_and_its_usage_is_kept(tmp_path):
    from lumos_queue.endpoints.chat_messages import chat_messages

    with FakeEndpoint(lambda prompt: "Four words of reply.", keep_bodies=True) as server:
        keys = tmp_path / "keys"
        keys.touch(0o600)
        keys.write_text(f"http://127.0.0.1:{server.port} k1")
        (done, greedy), busy = ask(
            server.chat, FRAMED, "Again?", sampling=Sampling(0.5, 0.9, 20, ("\n",)), api_keys=keys
        )
    body = server.bodies[0]
    assert body["messages"] == chat_messages(FRAMED)
    assert (body["model"], body["max_tokens"], body["temperature"], body["top_p"]) == ("fake", 20, 0.5, 0.9)
    assert body["stop"] == ["\n"] and body["seed"] == 7
    assert b"authorization: bearer k1" in server.headers[0].lower()
    assert (done.text, done.finish_reason, done.completion_tokens) == ("Four words of reply.", "stop", 4)
    assert done.prompt_tokens > greedy.prompt_tokens > 0
    assert busy == 0


def test_the_limit_of_tokens_is_told():
    with FakeEndpoint(lambda prompt: "word " * 30) as server:
        (done,), _ = ask(server.chat, "Hello?")
    assert (done.finish_reason, done.completion_tokens) == ("length", 20)


@pytest.mark.parametrize("failure", ["503", "429", "reset", "truncated", "garbage", "array", "wrong"])
def test_what_another_try_may_mend_is_tried_again(failure):
    with FakeEndpoint(lambda prompt: "fine", failures=[failure]) as server:
        (done,), _ = ask(server.chat, "Hello?")
        assert server.count == 2
    assert (done.text, done.retries) == ("fine", 1)


def test_what_no_try_can_mend_ends_the_episode_once_a_control_is_answered(monkeypatch):
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.1)
    with FakeEndpoint(lambda prompt: 422 if "Bye" in prompt else "fine") as server:
        with pytest.raises(EpisodeError, match="422"):
            ask(server.chat, "Hello?", "Bye?")
        assert server.count == 4


def test_what_nobody_vouches_for_is_undecided(monkeypatch):
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.1)
    with FakeEndpoint(lambda prompt: "fine", failures=["400", "400"]) as server:
        with pytest.raises(UnclearFailure, match="answered 400 Bad Request"):
            ask(server.chat, "Hello?")
        assert server.count == 2


def test_a_server_that_is_silent_or_away_is_a_failure_of_infrastructure():
    with FakeEndpoint(lambda prompt: "fine", mode="hang") as server:
        with pytest.raises(InfrastructureError, match="has answered nothing"):
            ask(server.chat, "Hello?", request_seconds=0.1, silence_seconds=0.2, request_retries=0)
        url = server.chat
    with pytest.raises((InfrastructureError, EndpointDown)):
        ask(url, "Hello?", request_retries=0)


def test_a_server_says_which_models_it_has():
    async def identity(url: str):
        endpoint = open_endpoint(url, Settings())
        try:
            return await endpoint.identity()
        finally:
            await endpoint.close()

    with FakeEndpoint(lambda prompt: "fine") as server:
        assert asyncio.run(identity(server.chat))["model"] == "fake"
        with pytest.raises(SpecError, match=r"no such model\. Choose one of: fake"):
            asyncio.run(identity(server.chat.replace("model=fake", "model=nope")))


@pytest.mark.parametrize("url", ["chat://h:1?model=", "chats://h:1?key=x", "chat://me:x@h:1?model=m", "chat://h:1,h:1"])
def test_addresses_are_checked(url):
    with pytest.raises(SpecError):
        check_url(url)
    check_url("chats://api.example.org/v0?model=big")
