"""Empty replies that a stop string ended are requested once more without stop strings."""

from __future__ import annotations

import asyncio
import json
from pkgutil import resolve_name

import pytest

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.openai import OpenAI
from lumos_queue.endpoints.server import AGAIN
from tests.fake_endpoint import FakeEndpoint
from tests.stopping_endpoint import StoppingEndpoint
from tests.unit.test_endpoints_http import settings

CLASSES = {"tgi": "tgi:Tgi", "openai": "openai:OpenAI", "chat": "chat:Chat"}  #: by scheme, imported when one is opened
GREEDY = Sampling()
OBSERVATION = Sampling(stop=("\nObservation:",))


@pytest.fixture(params=CLASSES)
def scheme(request):
    return request.param


def ask(server, scheme, sampling=GREEDY, **options):
    async def once():
        open_scheme = resolve_name(f"lumos_queue.endpoints.{CLASSES[scheme]}")
        endpoint = open_scheme(getattr(server, scheme), settings(request_retries=0), first_backoff=0.002)
        try:
            return await endpoint.generate(ModelCall("How many?", sampling, 1, **options))
        finally:
            await endpoint.close()

    return asyncio.run(once())


def stops_of(body):
    return body.get("stop") or body.get("parameters", {}).get("stop")


@pytest.mark.parametrize(
    ("text", "sampling", "reply", "reasoning"),
    [
        ("\n\n7\n8", Sampling(), "7", ""),
        ("<think>\na b\n</think>\n\n7\n8", Sampling(), "7", "a b"),
        ("<think>a\nObservation: b</think>Thought: c\nObservation: d", OBSERVATION, "Thought: c", "a\nObservation: b"),
    ],
)
def test_a_reply_that_a_stop_string_made_empty_is_requested_again(scheme, text, sampling, reply, reasoning):
    with StoppingEndpoint(lambda prompt: text, keep_bodies=True) as server:
        made = ask(server, scheme, sampling)
    assert (made.text, made.reasoning, made.finish_reason, made.note) == (reply, reasoning, "stop", AGAIN)
    first, second = server.bodies
    assert stops_of(first) == list(sampling.stop) and not stops_of(second)
    for body in (first, second):
        body.get("parameters", body).pop("stop", None)
    assert first == second, "nothing else differs"


def test_tokens_and_seconds_of_both_requests_are_counted(scheme):
    with StoppingEndpoint(lambda prompt: "<think>\na b\n</think>\n\n7\n8", latency=0.05) as server:
        made = ask(server, scheme)
    assert (made.prompt_tokens, made.completion_tokens) == (6 if scheme == "chat" else 4, 1 + 2)
    assert made.seconds >= 0.1 and made.retries == 0


def test_a_reply_that_stays_empty_is_not_requested_a_third_time(scheme):
    with StoppingEndpoint(lambda prompt: "\n<think>\na") as server:
        made = ask(server, scheme)
    assert (made.text, made.reasoning, made.finish_reason, server.count) == ("", "a", "empty", 2)


@pytest.mark.parametrize(
    ("text", "sampling"),
    [
        ("\n\n7", Sampling(stop=())),  # no stop string was sent
        ("\n\n7", Sampling(rules=2)),  # an earlier version
        ("STOP 7", Sampling(stop=("STOP",))),  # the whole text is here, and begins with one
        ("<think>a b c", Sampling(max_tokens=2)),  # the limit ended it
        ("7\n8", Sampling()),  # it is not empty
    ],
)
def test_other_replies_are_not_requested_again(scheme, text, sampling):
    mode = "finish:stop_sequence" if scheme == "tgi" and sampling.max_tokens > 2 else "ok"
    with FakeEndpoint(lambda prompt: text, mode=mode) as server:
        made = ask(server, scheme, sampling)
    assert server.count == 1 and not made.note


def test_a_model_that_ended_by_itself_is_not_requested_again():
    with FakeEndpoint(lambda prompt: "", mode="finish:eos_token") as server:
        assert ask(server, "tgi").finish_reason == "empty" and server.count == 1
    for name in ("stop_reason", "matched_stop"):
        for value, requests in [(151645, 1), ("\n", 2), (None, 2)]:
            choice = {"index": 0, "finish_reason": "stop", "text": "", name: value}
            reply = json.dumps({"choices": [choice], "usage": {}}).encode()
            with FakeEndpoint(lambda prompt, reply=reply: (200, reply)) as server:
                assert ask(server, "openai").finish_reason == "empty" and server.count == requests


def test_stop_strings_of_a_request_that_were_not_those_of_the_sampling_are_applied_too(monkeypatch):
    plain = OpenAI._complete

    async def with_stops(self, path, body, call):
        return await plain(self, path, {**body, "stop": "END"}, call)

    monkeypatch.setattr(OpenAI, "_complete", with_stops)
    with StoppingEndpoint(lambda prompt: "<think>END</think>7 END 8") as server:
        assert ask(server, "openai", Sampling(stop=("9",))).text == "7"
