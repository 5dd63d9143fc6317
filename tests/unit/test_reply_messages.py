"""Messages of chat servers: parts, fields of reasoning, tokens of reasoning, and shapes that nobody knows."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.http import Malformed
from lumos_queue.endpoints.messages import count_reasoning, read_content, read_reasoning
from lumos_queue.errors import RowFailed, UnclearFailure
from tests.fake_endpoint import FakeEndpoint
from tests.unit.test_endpoints_http import GREEDY, ask, settings


def ask_chat(message, sampling=GREEDY, **usage):
    """The completion made of a chat server's message."""
    from lumos_queue.endpoints.chat import Chat

    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    body = {"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 9} | usage}

    async def once(url):
        endpoint = Chat(url, settings(request_retries=0), first_backoff=0.002)
        try:
            return await endpoint.generate(ModelCall("How many?", sampling, 1))
        finally:
            await endpoint.close()

    with FakeEndpoint(lambda prompt: (200, json.dumps(body).encode())) as server:
        return asyncio.run(once(server.chat))


@pytest.mark.parametrize(
    ("content", "text", "thought"),
    [
        (None, "", ""),
        ("7", "7", ""),
        ([], "", ""),
        ([{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}, "c"], "abc", ""),
        ([{"type": "thinking", "thinking": "a"}, {"type": "text", "text": "7"}], "7", "a"),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "a"}, "b"]}, {"text": "7"}], "7", "ab"),
        ([{"type": "reasoning", "text": "a"}, {"type": "reasoning", "summary": [{"text": "b"}]}], "", "a\n\nb"),
        ([{"text": "a", "thought": True}, {"text": "7"}], "7", "a"),
        ({"type": "text", "text": "7"}, "7", ""),
    ],
)
def test_parts_are_joined_and_thinking_parts_are_reasoning(content, text, thought):
    notes = []
    assert read_content({"content": content}, notes) == (text, thought)
    assert not notes


def test_a_refusal_is_the_text():
    assert read_content({"content": None, "refusal": "No."}, []) == ("No.", "")
    assert read_content({"content": [{"type": "refusal", "refusal": "No."}]}, []) == ("No.", "")


def test_parts_without_a_text_are_left_out_with_a_note():
    parts = [{"type": "image_url", "image_url": {}}, 5, {"type": ["x"]}, {"type": "text", "text": 7}, {"type": "audio"}]
    notes = []
    assert read_content({"content": [*parts, {"type": "text", "text": "7"}]}, notes) == ("7", "")
    assert notes == ["parts of the message without a text were left out: image_url, 5, ['x']"]


@pytest.mark.parametrize("content", [5, True, 1.5])
def test_content_that_is_neither_text_nor_parts_is_malformed(content):
    with pytest.raises(Malformed, match="no text"):
        read_content({"content": content}, [])
    with pytest.raises(UnclearFailure):
        ask_chat({"content": content})


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_field_of_its_own(name):
    made = ask_chat({"content": "7\n8", name: " a\nb "}, completion_tokens_details={"reasoning_tokens": 4})
    assert (made.text, made.reasoning, made.reasoning_tokens, made.completion_tokens) == ("7", "a\nb", 4, 9)
    assert json.loads(made.message) == {"role": "assistant", "content": "7\n8", name: " a\nb "}


def test_reasoning_under_both_names_is_there_once_and_precedes_that_in_the_text():
    both = {"content": "<think>b</think>7", "reasoning_content": "a", "reasoning": "a"}
    assert (ask_chat(both).reasoning, ask_chat(both).text) == ("a\n\nb", "7")
    parts = {"content": [{"type": "thinking", "thinking": "b"}, {"type": "text", "text": "7"}], "reasoning": "a"}
    made = ask_chat(parts)
    assert (made.reasoning, made.text, json.loads(made.message)["content"]) == ("a\n\nb", "7", parts["content"])


def test_a_message_that_is_the_text_is_not_stored():
    assert not ask_chat({"content": "\n7\n8", "refusal": None, "tool_calls": [], "reasoning": ""}).message


def test_reasoning_that_is_no_text_is_left_out_with_a_note():
    notes = []
    assert read_reasoning({"reasoning": {"effort": 5}, "reasoning_content": [{"text": "a"}]}, notes) == "a"
    assert notes == ["no text in 'reasoning': {'effort': 5}"]


@pytest.mark.parametrize(
    ("usage", "tokens", "noted"),
    [
        ({"completion_tokens_details": {"reasoning_tokens": 5}}, 5, False),
        ({"output_tokens_details": {"reasoning_tokens": 5}}, 5, False),
        ({"completion_tokens_details": None, "reasoning_tokens": 5}, 5, False),
        ({"completion_tokens_details": []}, 0, False),
        ({"completion_tokens_details": {"reasoning_tokens": -1}}, 0, True),
        ({"reasoning_tokens": "many"}, 0, True),
    ],
)
def test_tokens_of_reasoning_are_read_where_servers_count_them(usage, tokens, noted):
    notes = []
    assert (count_reasoning(usage, notes), bool(notes)) == (tokens, noted)


def test_reasoning_beside_a_completions_text_is_read_too():
    choice = {"index": 0, "finish_reason": "stop", "text": "7", "reasoning": "a"}
    with FakeEndpoint(lambda prompt: (200, json.dumps({"choices": [choice]}).encode())) as server:
        made = ask(server.openai)
    assert (made.text, made.reasoning, made.message) == ("7", "a", "")


def test_earlier_versions_read_a_text_only():
    rules = Sampling(rules=2)
    made = ask_chat({"content": "<think>7", "reasoning": "a"}, rules)
    assert (made.text, made.reasoning, made.message) == ("<think>7", "", "")
    with pytest.raises(RowFailed, match="no text"):
        ask_chat({"content": [{"type": "text", "text": "7"}]}, rules)


def test_a_message_that_cannot_be_written_is_not_stored():
    deep: object = "x"
    for _ in range(900):
        deep = [deep]
    made = ask_chat({"content": "<think>a</think>7", "more": deep, "number": 10**40, "cut": "\ud800"})
    assert (made.text, made.reasoning, made.message) == ("7", "a", "")
    made = ask_chat({"content": "<think>a</think>7", "number": 10**40, "cut": "\ud800\0"})
    assert json.loads(made.message)["number"] == 10**40 and json.loads(made.message)["cut"] == "\ufffd\ufffd"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "thinking", "thought", "content"]), inner, max_size=3)
    ),
)


@given(_JSON, _JSON, _JSON)
def test_any_message_is_read_or_malformed(content, reasoning, usage):
    message, notes = {"content": content, "reasoning": reasoning}, []
    try:
        text, thought = read_content(message, notes)
    except Malformed:
        assert not isinstance(content, str | list | dict)
        return
    assert isinstance(text, str) and isinstance(thought, str) and isinstance(read_reasoning(message, notes), str)
    assert count_reasoning({"completion_tokens_details": usage}, notes) >= 0
    assert all(len(note) < 250 for note in notes)
