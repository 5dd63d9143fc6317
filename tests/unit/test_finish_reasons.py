"""Why a reply has ended, as servers say: half a reply is none."""

from __future__ import annotations

import pytest

from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.finish_reasons import FinishReasons
from lumos_queue.endpoints.http import Malformed
from lumos_queue.errors import EpisodeError, InfrastructureError
from lumos_queue.records import FinishReason
from tests.fake_endpoint import FakeEndpoint
from tests.unit.test_endpoints_chat import ask as ask_chat
from tests.unit.test_endpoints_http import ask

SCHEMES = ("tgi", "openai", "chat")


def reply_to(server: FakeEndpoint, scheme: str, **settings):
    if scheme == "chat":
        return ask_chat(server.chat, "How many?", sampling=Sampling(), **settings)[0][0]
    return ask(getattr(server, scheme), **settings)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("reason", ["abort", "error", "cancelled"])
def test_what_the_server_has_ended_is_asked_again(scheme, reason):
    with FakeEndpoint(lambda _: "seventy", failures=[f"finish:{reason}"]) as server:
        reply = reply_to(server, scheme)
        assert server.count == 2
    assert (reply.text, reply.retries, reply.note) == ("seventy", 1, "")
    refused = pytest.raises(InfrastructureError, match=f"the reply has ended with finish_reason '{reason}'")
    with FakeEndpoint(lambda _: "seventy", mode=f"finish:{reason}") as server, refused:
        reply_to(server, scheme, request_retries=1)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("reason", ["stop", "eos_token", "stop_sequence", "tool_calls", ""])
def test_the_models_own_end_is_a_reply(scheme, reason):
    with FakeEndpoint(lambda _: "seventy", mode=f"finish:{reason}") as server:
        reply = reply_to(server, scheme)
        assert server.count == 1
    assert (reply.text, reply.finish_reason, reply.note) == ("seventy", FinishReason.STOP, "")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_reason_that_nobody_knows_is_accepted_when_it_comes_again(scheme):
    with FakeEndpoint(lambda _: "seventy", mode="finish:repetition") as server:
        reply = reply_to(server, scheme)
        assert server.count == 2
    assert (reply.text, reply.retries, reply.note) == ("seventy", 1, "finish_reason 'repetition'")


@pytest.mark.parametrize("value", [[], {"reason": "stop"}, 7, True, float("nan"), "x" * 10**6, 10**5000], ids=range(7))
def test_a_reason_that_is_no_text_is_an_unknown_one(value):
    reasons, notes = FinishReasons(), []
    with pytest.raises(Malformed, match="the reply has ended with finish_reason"):
        reasons.read(value, notes)
    assert reasons.read(value, notes) is False and len(notes) == 1 and len(notes[0]) < 80


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_reply_that_was_withheld_is_no_answer(scheme):
    with FakeEndpoint(lambda _: "", mode="finish:content_filter") as server:
        with pytest.raises(EpisodeError, match="the server has withheld the reply") as caught:
            reply_to(server, scheme)
        assert server.count == 1
    assert caught.value.ending == "no_answer"
