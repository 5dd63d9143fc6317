"""Endpoints of plug-ins whose `generate` takes the fields of a call as arguments, as it did before ModelCall."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.commands import FunctionSchema
from lumos_queue.endpoints.base import ImagePart, ModelCall, Sampling
from lumos_queue.endpoints.old_signature import OldSignature, adapt_signature
from lumos_queue.endpoints.simple import SimpleEndpoint
from lumos_queue.records import Completion, FinishReason
from lumos_queue.settings import Settings
from tests.finite_texts import STEPS

IMAGES = (ImagePart(b"1", "image/png"),)
FUNCTIONS = (FunctionSchema("add", "Adds.", "{}"),)
CALL = ModelCall("p", Sampling(beams=4), 7, "wordmath 1 0", IMAGES, STEPS, 3)
FIELDS = ("p", Sampling(beams=4), 7, "wordmath 1 0", IMAGES, STEPS, 3)
FINE = Completion("fine", FinishReason.STOP)


class Endpoint:
    """The parts of an endpoint beside `generate`; it notes the arguments of each call."""

    url, admission = "mine:1", None

    def __init__(self):
        self.calls = []
        self.is_closed = False

    def note(self, *arguments, **options):
        self.calls.append((arguments, options))
        return FINE

    async def identity(self):
        return {"model": "mine"}

    async def close(self):
        self.is_closed = True


class Named(Endpoint):
    async def generate(self, prompt, sampling, seed, episode="", images=(), constraint=None, n=1):
        return self.note(prompt, sampling, seed, episode, images, constraint, n)


class Functional(Endpoint):
    async def generate(self, prompt, sampling, seed, episode, images, constraint, n, *, functions=()):
        return self.note(prompt, sampling, seed, episode, images, constraint, n, functions=functions)


class Starred(Endpoint):
    async def generate(self, prompt, *others, **options):
        return self.note(prompt, *others, **options)


class New(Endpoint):
    async def generate(self, call):
        return self.note(call)


class NewWithOption(Endpoint):
    async def generate(self, call, tries=1, *, wait=0.0):
        return self.note(call)


@pytest.mark.parametrize("kind", [Named, Functional, Starred])
def test_an_endpoint_of_the_old_signature_gets_the_fields_of_a_call(kind):
    endpoint = kind()
    adapted = adapt_signature(endpoint)
    assert asyncio.run(adapted.generate(CALL)) == FINE
    assert [arguments for arguments, _ in endpoint.calls] == [FIELDS]


@pytest.mark.parametrize("kind", [New, NewWithOption])
def test_an_endpoint_that_takes_a_call_is_not_adapted(kind):
    endpoint = kind()
    assert adapt_signature(endpoint) is endpoint


def test_the_keyword_functions_is_passed_where_there_are_functions_only():
    endpoint = Starred()
    adapted = adapt_signature(endpoint)
    asyncio.run(adapted.generate(ModelCall("p", Sampling(), functions=FUNCTIONS)))
    asyncio.run(adapted.generate(ModelCall("p", Sampling())))
    assert [options for _, options in endpoint.calls] == [{"functions": FUNCTIONS}, {}]


def test_an_adapted_endpoint_keeps_its_address_admission_identity_and_end():
    endpoint = Named()
    adapted = adapt_signature(endpoint)
    assert isinstance(adapted, OldSignature)
    assert (adapted.url, adapted.admission) == ("mine:1", None)
    assert asyncio.run(adapted.identity()) == {"model": "mine"}
    asyncio.run(adapted.close())
    assert endpoint.is_closed


def test_the_base_class_takes_a_call_and_the_fields_of_one():
    class Echo(SimpleEndpoint):
        async def reply(self, prompt, sampling):
            return f"{prompt} {sampling.max_tokens}"

    endpoint = Echo("mine:1", Settings())
    assert adapt_signature(endpoint) is endpoint
    sampling = Sampling(max_tokens=9)
    completions = [
        asyncio.run(endpoint.generate(ModelCall("p", sampling))),
        asyncio.run(endpoint.generate(call=ModelCall("p", sampling))),
        asyncio.run(endpoint.generate("p", sampling, 0)),
        asyncio.run(endpoint.generate(prompt="p", sampling=sampling, seed=0, images=[], n=1)),
    ]
    assert {completion.text for completion in completions} == {"p 9"}
