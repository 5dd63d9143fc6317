"""What servers are sent of a constraint, how their replies are judged by it, and what they refuse."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import gives_candidates, open_endpoint, takes_constraints
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.errors import EpisodeError
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.finite_texts import STEPS

SETTINGS = Settings(request_seconds=5.0, request_retries=0, api_keys=None, endpoint_hosts="", concurrency=8)
ALLOWED, OTHER = "Fill Mask,", "Bake the cake"


def ask(url, constraint=STEPS, n=1, sampling=None):
    async def once():
        endpoint = open_endpoint(url, SETTINGS)
        try:
            return await endpoint.generate(ModelCall("p", sampling or Sampling(), constraint=constraint, candidates=n))
        finally:
            await endpoint.close()

    return asyncio.run(once())


def ask_server(scheme, reply, owner="vllm", constraint=STEPS, **options):
    """The completion, and the body that the server got."""
    with FakeEndpoint(lambda prompt: reply, keep_bodies=True, owner=owner) as server:
        done = ask(getattr(server, scheme), constraint, **options)
        (body,) = server.bodies
    return done, body


def test_tgi_gets_a_grammar():
    done, body = ask_server("tgi", ALLOWED)
    assert body["parameters"]["grammar"] == {"type": "regex", "value": STEPS.regex()}
    assert (done.text, done.note, done.candidates) == (ALLOWED, "", ())


def test_vllm_gets_structured_outputs():
    done, body = ask_server("openai", ALLOWED)
    assert body["structured_outputs"] == {"regex": STEPS.regex()}
    assert (done.text, done.note) == (ALLOWED, "")


@pytest.mark.parametrize("owner", ["sglang", "llamacpp", "", "system"])
def test_other_servers_of_the_protocol_get_no_field_that_they_may_refuse(owner):
    done, body = ask_server("openai", OTHER, owner)
    assert body.keys() == {"model", "prompt", "max_tokens", "temperature", "stop"}
    assert done.note == f"judged afterwards: '{OTHER}' is not allowed"


def test_a_chat_server_gets_no_field():
    done, body = ask_server("chat", OTHER)
    assert body.keys() == {"model", "messages", "max_tokens", "temperature", "stop"}
    assert done.note == f"judged afterwards: '{OTHER}' is not allowed"
    assert ask_server("chat", ALLOWED)[0].note == ""


@pytest.mark.parametrize("scheme", ["tgi", "openai"])
def test_a_server_that_ignores_the_constraint_is_told_of(scheme):
    done, _ = ask_server(scheme, OTHER)
    assert (done.text, done.note) == (OTHER, f"the server ignored the constraint: '{OTHER}' is not allowed")


@pytest.mark.parametrize("scheme", ["tgi", "openai"])
def test_a_reply_that_the_limit_cut_is_not_laid_to_the_server(scheme):
    done, _ = ask_server(scheme, "Image Denoising, Fill Mask,", sampling=Sampling(max_tokens=1))
    assert done.note == "the limit of tokens cut the reply, which is not allowed as it is: 'Image'"


@pytest.mark.parametrize("scheme", ["tgi", "openai", "chat"])
def test_without_a_constraint_nothing_is_sent_or_judged(scheme):
    done, body = ask_server(scheme, OTHER, constraint=None)
    assert "structured_outputs" not in body and "grammar" not in body.get("parameters", {}) and not done.note


def test_a_script_is_judged_afterwards():
    async def once(reply):
        return await Scripted([reply]).generate(ModelCall("p", Sampling(), constraint=STEPS))

    assert not asyncio.run(once(ALLOWED)).note
    assert asyncio.run(once(OTHER)).note == f"judged afterwards: '{OTHER}' is not allowed"


@pytest.mark.parametrize(("n", "sampling"), [(2, Sampling()), (1, Sampling(beams=3)), (1, Sampling(epsilon=0.1))])
@pytest.mark.parametrize("scheme", ["tgi", "openai", "chat", "scripted"])
def test_candidates_are_refused_before_anything_is_sent(scheme, n, sampling, tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text('[{"contains": "p", "reply": "x"}]')
    with FakeEndpoint(lambda prompt: "x") as server:
        url = f"scripted:{rules}" if scheme == "scripted" else getattr(server, scheme)
        with pytest.raises(EpisodeError, match="gives no candidates with log-probabilities") as caught:
            ask(url, n=n, sampling=sampling)
        assert not server.count
    assert caught.value.ending == "infra_error" and "\n" not in str(caught.value)


def test_the_registry_tells_what_an_address_can():
    urls = ["local:/m", "tgi://h:1", "tgis://h:1", "openai://h:1", "openais://h:1", "chat://h:1", "scripted:x"]
    assert [gives_candidates(url) for url in urls] == [True] + [False] * 6
    assert [takes_constraints(url) for url in urls] == [True] * 5 + [False] * 2
