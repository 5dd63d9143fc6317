"""A prompt that does not fit the model's context ends its episode at the limit, whatever server says so."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.commands import Ask
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.context_length import MAX_BYTES, is_context_full
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.episode import StepContext
from lumos_queue.errors import EpisodeError
from lumos_queue.execution.executor import Executor
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint

#: What servers say, with which status: text-generation-inference 3, vLLM 0.4 and 0.10, SGLang, OpenAI, llama.cpp.
SAID = {
    "tgi": (
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 "
            "`inputs` tokens and 512 `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    "tgi, the prompt alone": (
        422,
        {
            "error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000",
            "error_type": "validation",
        },
    ),
    "vllm": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you "
            "requested 5000 tokens (4488 in the messages, 512 in the completion).",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "vllm, newer": (
        400,
        {
            "error": {
                "message": "'max_tokens' or 'max_completion_tokens' is too large: 512. This "
                "model's maximum context length is 4096 tokens and your request has 4000 input tokens.",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        },
    ),
    "sglang": (
        400,
        {
            "object": "error",
            "message": "Requested token count exceeds the model's maximum context length of 4096 tokens.",
            "type": "BadRequest",
            "param": None,
            "code": 400,
        },
    ),
    "openai": (
        400,
        {
            "error": {
                "message": "Too long.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    ),
    "llama.cpp": (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 5000,
                "n_ctx": 4096,
            }
        },
    ),
    "a proxy": (413, {"detail": "Maximum context length exceeded"}),
    "another proxy": (404, {"error": {"message": "Too long.", "code": "context_length_exceeded"}}),
    "vllm, the decoder": (
        400,
        {
            "object": "error",
            "message": "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "sglang, the input": (
        400,
        {
            "object": "error",
            "message": "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "llama.cpp, at a slot": (
        500,
        {"error": {"code": 500, "message": "Context size has been exceeded.", "type": "server_error"}},
    ),
    "llama-cpp-python": (
        400,
        {
            "error": {
                "message": "Requested tokens (5000) exceed context window of 4096",
                "type": "invalid_request_error",
                "param": "messages",
                "code": None,
            }
        },
    ),
    "in place of a reply": (200, {"error": {"message": "prompt is too long: 5000 tokens > 4096 maximum", "code": 502}}),
    "counted": (
        400,
        {
            "error": {
                "message": "The input token count (5000) exceeds the maximum number of tokens allowed (4096).",
                "status": "INVALID_ARGUMENT",
            }
        },
    ),
    "a desktop application": (
        400,
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length."},
    ),
}
OTHERS = [
    (422, {"error": "Input validation error: `temperature` must be strictly positive", "error_type": "validation"}),
    (422, {"detail": [{"type": "missing", "input": "maximum context length"}]}),
    (400, {"error": {"code": 400, "message": "no such model", "type": "invalid_request_error"}}),
    (400, {"maximum context length": 4096}),
    (429, SAID["openai"][1]),
    (400, {"error": {"message": "Rate limit reached: the input of 5000 tokens exceeds 4000 tokens per minute."}}),
    (403, {"error": {"message": "You exceeded your current quota of input tokens."}}),
    (500, {"error": "CUDA out of memory: the context needs more than 79 GiB"}),
    (500, {"error": "The model's max seq len (4096) is larger than the tokens that can be stored in KV cache (2048)."}),
    (504, {"error": "context deadline exceeded"}),
    (500, {"error": "the context was canceled, as more than one client asked"}),
    (400, {"error": {"message": "The image is larger than 20 MB."}}),
    (400, ["maximum context length"]),
    (400, {"error": "x" * MAX_BYTES, "code": "context_length_exceeded"}),
]


@pytest.mark.parametrize("name", SAID)
def test_what_servers_say_is_understood(name):
    status, reply = SAID[name]
    assert is_context_full(status, json.dumps(reply).encode())


@pytest.mark.parametrize(("status", "reply"), OTHERS)
def test_any_other_refusal_is_not(status, reply):
    assert not is_context_full(status, json.dumps(reply).encode())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["maximum context length", "x"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["error", "code", "message", "detail"]), inner),
)


@given(JSON.map(json.dumps).map(str.encode) | st.binary(max_size=60))
def test_no_body_is_an_error(body):
    assert is_context_full(400, body) in (True, False)
    assert not is_context_full(429, body)


def test_a_body_too_deep_to_read_is_any_other():
    assert not is_context_full(400, b"[" * 50_000)


@asynccontextmanager
async def opened(url: str):
    endpoint = open_endpoint(url, Settings(request_retries=2))
    try:
        yield endpoint
    finally:
        await endpoint.close()


def long_is(name: str):
    """Replies of a server which says of prompts with 'long' in them what that one says."""
    status, reply = SAID[name]
    return lambda prompt: (status, json.dumps(reply).encode()) if "long" in prompt else "fine"


@pytest.mark.parametrize("name", ["tgi", "vllm", "openai", "llama.cpp"])
@pytest.mark.parametrize("scheme", ["tgi", "openai", "chat"])
def test_it_ends_the_episode_at_once_and_the_server_is_well(scheme, name):
    """One request, no control, no wait; and nobody beside it notices, however many such prompts there are."""

    async def work(server):
        async with opened(getattr(server, scheme)) as endpoint:
            for number in range(12):
                with pytest.raises(EpisodeError) as caught:
                    await endpoint.generate(ModelCall("a long prompt", Sampling(), episode=f"e{number}"))
                assert caught.value.ending == "limit"
            (replica,) = endpoint._client.replicas.all
            assert not replica.out and endpoint.admission.in_flight == 0
            assert (await endpoint.generate(ModelCall("another", Sampling(), episode="other"))).text == "fine"
        return str(caught.value)

    with FakeEndpoint(long_is(name)) as server:
        message = asyncio.run(work(server))
        assert server.count == 13
    assert (
        message.startswith("the model's context is full: http://127.0.0.1:")
        and f"answered {SAID[name][0]}: " in message
    )


@pytest.mark.parametrize("scheme", ["tgi", "openai", "chat"])
def test_a_refusal_that_says_nothing_of_it_takes_evidence_as_before(scheme, monkeypatch):
    monkeypatch.setattr("lumos_queue.endpoints.failure_cause.QUIET_SECONDS", 0.1)
    said = 422, json.dumps(OTHERS[0][1]).encode()

    async def work(server):
        async with opened(getattr(server, scheme)) as endpoint:
            with pytest.raises(EpisodeError) as caught:
                await endpoint.generate(ModelCall("a long prompt", Sampling(), episode="e"))
        return caught.value.ending

    with FakeEndpoint(lambda prompt: said if "long" in prompt else "fine") as server:
        assert asyncio.run(work(server)) == "infra_error"
        assert server.count == 5, "three tries and two controls"


def test_a_judge_whose_context_is_full_gives_no_vote_and_ends_nothing():
    async def work(server):
        async with opened(server.chat) as endpoint:
            made = Executor({"judge": endpoint, "qa": endpoint}, None, Sampling(), 0)
            async with made.for_episode(Task("b", "d", "1", "q"), 0) as perform:
                vote = await perform(Ask("judge", "a long prompt"), StepContext(0, 0))
                with pytest.raises(EpisodeError) as caught:
                    await perform(Ask("qa", "a long prompt"), StepContext(1, 0))
        return vote.finish_reason, caught.value.ending

    with FakeEndpoint(long_is("openai")) as server:
        assert asyncio.run(work(server)) == ("refused", "limit")
