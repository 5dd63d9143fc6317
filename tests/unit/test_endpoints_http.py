"""tgi and openai endpoints against the fake server: what is sent, what is read, and each way to fail."""

from __future__ import annotations

import asyncio
import email.utils
import time
from collections import Counter

import pytest

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.openai import OpenAI
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.endpoints.tgi import Tgi
from lumos_queue.errors import EpisodeError, InfrastructureError, SpecError, UnclearFailure
from lumos_queue.settings import Settings
from lumos_queue.util.retry_after import read_retry_after
from tests.fake_endpoint import FakeEndpoint
from tests.loop_wait import loop_until

GREEDY = Sampling()


def settings(**changes):
    return Settings(
        **{"request_seconds": 30.0, "request_retries": 3, "api_keys": None, "endpoint_hosts": "", "concurrency": 8}
        | changes
    )


def connect(url, **changes):
    """An endpoint that waits milliseconds, not seconds, before another try."""
    if url.startswith("tgi"):
        return Tgi(url, settings(**changes), first_backoff=0.002)
    return OpenAI(url, settings(**changes), first_backoff=0.002)


def ask(url, sampling=GREEDY, prompt="Task: how many?", seed=7, **changes):
    async def once():
        endpoint = connect(url, **changes)
        try:
            return await endpoint.generate(ModelCall(prompt, sampling, seed))
        finally:
            await endpoint.close()

    return asyncio.run(once())


def identify(url, **changes):
    async def once():
        endpoint = open_endpoint(url, settings(**changes))
        try:
            return await endpoint.identity()
        finally:
            await endpoint.close()

    return asyncio.run(once())


@pytest.fixture(params=["tgi", "openai"])
def scheme(request):
    return request.param


def url_of(server, scheme):
    return getattr(server, scheme)


def test_a_reply_is_cut_stripped_and_counted(scheme):
    with FakeEndpoint(lambda prompt: " Subgoal 1: Add 2 and 3. \nnonsense") as server:
        reply = ask(url_of(server, scheme))
    assert reply.text == "Subgoal 1: Add 2 and 3."
    assert (reply.finish_reason, reply.retries, reply.replaced) == ("stop", 0, 0)
    assert reply.prompt_tokens == 3
    assert reply.completion_tokens == 8
    assert reply.seconds > 0


def test_a_reply_that_ran_into_the_limit_says_so(scheme):
    with FakeEndpoint(lambda prompt: "one two three four") as server:
        reply = ask(url_of(server, scheme), Sampling(max_tokens=2))
    assert (reply.text, reply.finish_reason, reply.completion_tokens) == ("one two", "length", 2)


def test_an_empty_reply_is_no_error(scheme):
    with FakeEndpoint(lambda prompt: "x", mode="empty") as server:
        reply = ask(url_of(server, scheme))
    assert (reply.text, reply.finish_reason, reply.retries) == ("", "empty", 0)


def test_what_cannot_be_stored_is_replaced_and_counted(scheme):
    with FakeEndpoint(lambda prompt: "a\0b\ud800c") as server:
        reply = ask(url_of(server, scheme))
    assert (reply.text, reply.replaced) == ("a\ufffdb\ufffdc", 2)


def test_tgi_is_asked_greedily_without_the_fields_it_refuses():
    with FakeEndpoint(lambda prompt: "x", keep_bodies=True) as server:
        ask(server.tgi, Sampling(max_tokens=9, stop=("\n", "a", "b", "c", "d")))
    parameters = {"max_new_tokens": 9, "details": True, "do_sample": False, "stop": ["\n", "a", "b", "c"]}
    assert server.bodies == [{"inputs": "Task: how many?", "parameters": parameters}]


def test_tgi_samples_with_temperature_and_seed():
    with FakeEndpoint(lambda prompt: "x", keep_bodies=True) as server:
        ask(server.tgi, Sampling(temperature=0.7, top_p=0.9, stop=()), seed=2**40 + 5)
    parameters = {
        "max_new_tokens": 512,
        "details": True,
        "do_sample": True,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 5,
    }
    assert server.bodies[0]["parameters"] == parameters


def test_openai_is_asked_greedily_with_the_fewest_fields():
    with FakeEndpoint(lambda prompt: "x", keep_bodies=True) as server:
        ask(server.openai)
    fields = {"model": "fake", "prompt": "Task: how many?", "max_tokens": 512, "temperature": 0.0, "stop": ["\n"]}
    assert server.bodies == [fields]


def test_openai_samples_with_top_p_and_seed():
    with FakeEndpoint(lambda prompt: "x", keep_bodies=True) as server:
        ask(server.openai, Sampling(temperature=0.5, top_p=0.8))
    assert server.bodies[0].items() >= {"temperature": 0.5, "top_p": 0.8, "seed": 7}.items()


@pytest.mark.parametrize(
    "failure",
    [
        "408",
        "424",
        "425",
        "429",
        "429:0",
        "500",
        "502",
        "503:0",
        "529",
        "truncated",
        "reset",
        "garbage",
        "nested",
        "array",
        "wrong",
        "huge",
    ],
)
def test_a_passing_failure_is_tried_again(scheme, failure):
    with FakeEndpoint(lambda prompt: "fine", failures=[failure, failure]) as server:
        reply = ask(url_of(server, scheme))
    assert (reply.text, reply.retries, server.count) == ("fine", 2, 3)


@pytest.mark.parametrize("failure", ["500", "truncated", "reset", "garbage", "wrong"])
def test_a_lasting_failure_alone_is_charged_to_nobody(scheme, failure, monkeypatch):
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.1)
    with FakeEndpoint(lambda prompt: "fine", failures=[failure] * 9) as server:
        with pytest.raises(UnclearFailure) as caught:
            ask(url_of(server, scheme), request_retries=2)
        assert server.count == 3, "two tries and a control"
    assert f"127.0.0.1:{server.port}" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [302, 400, 401, 404, 413, 422, 600])
def test_a_refusal_alone_is_charged_to_nobody(scheme, status, monkeypatch):
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.1)
    with FakeEndpoint(lambda prompt: "fine", mode=str(status)) as server:
        with pytest.raises(UnclearFailure) as caught:
            ask(url_of(server, scheme))
        assert server.count == 2, "the request and a control"
    assert caught.value.status == status
    assert str(caught.value).startswith(f"127.0.0.1:{server.port} answered {status}")


@pytest.mark.parametrize("status", [404, 422])
def test_a_refusal_that_is_over_when_a_control_is_answered_costs_one_try(scheme, status, monkeypatch):
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.1)
    with FakeEndpoint(lambda prompt: "fine", failures=[str(status)]) as server:
        done = ask(url_of(server, scheme))
        assert (done.text, done.retries, server.count) == ("fine", 1, 3)


@pytest.mark.parametrize(("status", "tries"), [(400, 4), (422, 3)])
def test_a_wrong_request_that_is_alone_is_found_out_by_controls(scheme, status, tries, monkeypatch):
    """The first of its tries counts for nothing: nobody had been answered before it."""
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.1)
    with FakeEndpoint(lambda prompt: " 2" if "1 + 1" in prompt else status) as server:
        with pytest.raises(EpisodeError, match=f"answered {status}"):
            ask(url_of(server, scheme))
        prompts = Counter(call["sha256"] for call in server.calls)
    assert max(prompts.values()) == tries and len(prompts) == 2


def test_a_server_that_answers_nothing_costs_the_time_of_silence_and_no_more(scheme):
    with FakeEndpoint(lambda prompt: "fine", failures=["hang", "hang"]) as server:
        started = time.perf_counter()
        with pytest.raises(InfrastructureError, match=r"the server has answered nothing for 0\.4 s"):
            ask(url_of(server, scheme), request_seconds=0.2, silence_seconds=0.4, request_retries=1)
        assert time.perf_counter() - started >= 0.8
        assert server.count == 2, "a try and a control"


def test_a_cancelled_request_is_followed_by_a_good_reply_whose_seconds_are_its_own(scheme):
    with FakeEndpoint(lambda prompt: "fine", failures=["hang"]) as server:
        reply = ask(url_of(server, scheme), request_seconds=0.5, silence_seconds=1.0)
    assert (reply.text, reply.retries) == ("fine", 1)
    assert reply.lost >= 1.0 > reply.seconds


def test_nobody_listening_is_infrastructure_for_a_call_and_a_plain_line_for_a_person(scheme):
    with FakeEndpoint(lambda prompt: "") as server:
        url = url_of(server, scheme)
    with pytest.raises(InfrastructureError, match="failed"):
        ask(url, request_retries=1)
    with pytest.raises(SpecError, match="start the server or correct the URL"):
        identify(url)


def test_a_wait_the_server_asks_for_is_kept():
    with FakeEndpoint(lambda prompt: "fine", failures=["429:1"]) as server:
        started = time.perf_counter()
        assert ask(server.tgi).retries == 1
        assert time.perf_counter() - started >= 1


def test_a_long_wait_is_left_to_the_worker():
    with FakeEndpoint(lambda prompt: "fine", failures=["503:90"]) as server:
        with pytest.raises(InfrastructureError) as caught:
            ask(server.tgi)
        assert server.count == 1
    assert caught.value.retry_after == 90


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2", 2), ("1.5", 1.5), ("1e999", 3600), ("86400", 3600), ("-5", None), ("soon", None), ("", None), ("²", None)],
)
def test_retry_after_is_read_or_ignored(value, seconds):
    assert read_retry_after(value) == seconds


def test_retry_after_may_be_a_date():
    assert read_retry_after(email.utils.formatdate(time.time() + 600, usegmt=True)) == pytest.approx(600, abs=60)
    assert read_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def test_an_endpoint_has_no_more_requests_in_flight_than_allowed_and_waiting_is_no_time_out():
    async def many(url):
        endpoint = connect(url, concurrency=4, request_seconds=1.5, request_retries=0)
        replies = await asyncio.gather(*(endpoint.generate(ModelCall("p", GREEDY)) for _ in range(40)))
        await endpoint.close()
        return replies

    with FakeEndpoint(lambda prompt: "fine", latency=0.2) as server:
        replies = asyncio.run(many(server.tgi))
        assert server.most_busy == 4
    assert len(replies) == 40 and max(reply.waited for reply in replies) > 1.5
    assert all(0.2 <= reply.seconds < 1.5 for reply in replies)


def test_a_cancelled_call_leaves_the_endpoint_usable():
    async def cancel_one(url):
        endpoint = connect(url, concurrency=1)
        call = asyncio.create_task(endpoint.generate(ModelCall("p", GREEDY)))
        await loop_until(lambda: server.count == 1, "it is sent")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        reply = await endpoint.generate(ModelCall("p", GREEDY))
        await endpoint.close()
        return reply

    with FakeEndpoint(lambda prompt: "fine", failures=["hang"]) as server:
        assert asyncio.run(cancel_one(server.tgi)).text == "fine"


def test_the_key_travels_as_a_bearer_token_and_stays_out_of_messages(scheme, monkeypatch, tmp_path):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with FakeEndpoint(lambda prompt: "fine", failures=["ok", "401", "401"], keep_bodies=True) as server:
        keys = tmp_path / "keys"
        keys.touch(0o600)
        keys.write_text(f"http://127.0.0.1:{server.port} s3cret")
        assert ask(url_of(server, scheme), api_keys=keys).text == "fine"
        with pytest.raises(UnclearFailure) as caught:
            ask(url_of(server, scheme), api_keys=keys)
    assert b"\r\nAuthorization: Bearer s3cret\r\n" in server.headers[0] + b"\r\n"
    assert "s3cret" not in str(caught.value)


def test_tgi_says_what_it_is():
    with FakeEndpoint(lambda prompt: "") as server:
        known = identify(server.tgi)
    assert known.items() >= {"server": "text-generation-inference", "model_id": "fake", "version": "3"}.items()


def test_openai_says_what_it_is():
    with FakeEndpoint(lambda prompt: "") as server:
        assert identify(server.openai) == {"model": "fake", "owned_by": "vllm"}


def test_vllm_alone_is_told_to_put_no_bos_in_front():
    bare = Sampling(bos=False)
    with FakeEndpoint(lambda prompt: "fine", keep_bodies=True) as server:
        for url in (server.openai, server.openai.partition("?")[0]):
            ask(url, bare)
            assert server.bodies[-1].get("add_special_tokens") is False
        for url, sampling in ((server.openai, GREEDY), (server.tgi, bare)):
            ask(url, sampling)
            assert "add_special_tokens" not in str(server.bodies[-1])
    for other in ("llamacpp", "sglang", "me"):
        with FakeEndpoint(lambda prompt: "fine", keep_bodies=True, owner=other) as server:
            ask(server.openai, bare)
            assert "add_special_tokens" not in server.bodies[-1]


def test_replicas_of_which_one_cannot_leave_out_bos_are_not_told():
    with (
        FakeEndpoint(lambda prompt: "fine", keep_bodies=True) as one,
        FakeEndpoint(lambda prompt: "fine", keep_bodies=True, owner="llamacpp") as other,
    ):
        ask(f"openai://127.0.0.1:{one.port},127.0.0.1:{other.port}?model=fake", Sampling(bos=False))
        assert "add_special_tokens" not in (one.bodies + other.bodies)[0]


def test_the_only_model_need_not_be_named():
    with FakeEndpoint(lambda prompt: "fine", keep_bodies=True) as server:
        url = server.openai.partition("?")[0]
        assert identify(url)["model"] == "fake"
        assert ask(url).text == "fine"
    assert server.bodies[0]["model"] == "fake"


def test_one_of_several_models_must_be_named():
    with FakeEndpoint(lambda prompt: "fine", models=["a", "b"]) as server:
        with pytest.raises(SpecError, match=r"it has a, b.*\?model=NAME"):
            identify(server.openai.partition("?")[0])
        with pytest.raises(SpecError, match="Choose one of: a, b"):
            identify(server.openai)


def test_a_prefix_of_the_path_is_kept():
    with FakeEndpoint(lambda prompt: "fine") as server:
        url = f"tgi://127.0.0.1:{server.port}/replica/1/"
        with pytest.raises(SpecError, match=r"/replica/1/ is not a text-generation-inference server"):
            identify(url)


def test_an_endpoint_serves_one_loop_after_the_other():
    with FakeEndpoint(lambda prompt: "fine") as server:
        endpoint = connect(server.tgi)

        async def once():
            reply = await endpoint.generate(ModelCall("p", GREEDY))
            await endpoint.close()
            return reply.text

        assert [asyncio.run(once()), asyncio.run(once())] == ["fine", "fine"]
