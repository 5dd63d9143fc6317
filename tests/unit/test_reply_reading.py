"""One path from the text that a server sent to the text that a formulation reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.endpoints.end_tokens import END_TOKENS
from lumos_queue.endpoints.reasoning import MAX_TAGS
from lumos_queue.endpoints.replies import completion, read_text

LINE = ("\n",)


def read(text, stops=LINE):
    reading = read_text(text, stops)
    return reading.text, reading.reasoning


@pytest.mark.parametrize(
    ("text", "reply", "reasoning"),
    [
        ("<think>\n3 + 4 = 7\n</think>\n\n7", "7", "3 + 4 = 7"),
        ("<think>\n\n</think>\n\n7", "7", ""),
        (" \n<thinking>a</thinking>7", "7", "a"),
        ("<thought>a</thought>7", "7", "a"),
        ("<thoughts>a</thoughts>7", "7", "a"),
        ("<reasoning>a</reasoning>7", "7", "a"),
        ("[THINK]a[/THINK]7", "7", "a"),
        ("<seed:think>a</seed:think>7", "7", "a"),
        ("◁think▷a◁/think▷7", "7", "a"),
        ("<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>7<|END_RESPONSE|>", "7", "a"),
        ("<|begin_of_thought|>a<|end_of_thought|>\n<|begin_of_solution|>7<|end_of_solution|>", "7", "a"),
        ("<|channel>thought\na<channel|>7<turn|>", "7", "a"),
        ("<|inner_prefix|>a<|inner_suffix|>7<|assistant_end|>", "7", "a"),
        ("<THINK>a</Think>7", "7", "a"),
        ('< think mode="deep" >a</ think >7', "7", "a"),
        ("<think />7", "7", ""),
        ("\ufeff<think>a</think>7", "7", "a"),
        ("<|im_start|>assistant\n<think>a</think>7", "7", "a"),
        # Several blocks in a row, of one kind or several.
        ("<think>a</think>\n<think>b</think>7", "7", "a\n\nb"),
        ("<think>a</think><reasoning>b</reasoning> 7", "7", "a\n\nb"),
        # Without the opening tag, which the template wrote.
        ("a\nb</think>\n\n7", "7", "a\nb"),
        ("a[/THINK]7", "7", "a"),
        ("</think>7", "7", ""),
        ("a</think>b</think>7", "b</think>7", "a"),
        # Never closed.
        ("<think>a\nb", "", "a\nb"),
        ("<think>", "", ""),
        ("<think>a</think><think>b", "", "a\n\nb"),
        ("<think>a<|im_end|>b", "", "a"),
        # Tags within a block: of another name, nested, twice, or written by the template and the model.
        ("<think><reasoning>a</reasoning></think><reasoning>b</reasoning>7", "7", "<reasoning>a</reasoning>\n\nb"),
        ("<think>a<think>b</think>c</think>7", "7", "a<think>b</think>c"),
        ("<think><think>a</think>7", "7", "<think>a"),
        ("<think>a</think></think>7", "7", "a"),
        ("<think>a</thought>7", "7", "a"),
        (
            "<think>write <think> first</think>The tag <think> is not </think>",
            "The tag <think> is not </think>",
            "write <think> first",
        ),
        # What is not leading is text.
        ("The tag <think>a</think> is text", "The tag <think>a</think> is text", ""),
        ("7<think>a", "7<think>a", ""),
        ("7<|im_end|>a</think>b", "7", ""),
        ("<thinker>7", "<thinker>7", ""),
        ("[thinking] 7", "[thinking] 7", ""),
        ("analysis of 7", "analysis of 7", ""),
        # Channels.
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>7<|return|>", "7", "a"),
        ("<|start|>assistant<|channel|>analysis<|message|>a<|start|>assistant<|channel|>final<|message|>7", "7", "a"),
        ("<|channel|>analysis<|message|>a", "", "a"),
        ("<|channel|>analysis<|message|>a<|end|>", "", "a"),
        ("<|channel|>analysis<|message|>a<|return|>7", "", "a"),
        ("<|channel|>final<|message|>7", "7", ""),
        ("<|channel|>commentary<|message|>I go.<|end|><|start|>assistant<|channel|>final<|message|>7", "7", "I go."),
        ("<|channel|>commentary<|message|>7<|end|>", "7", ""),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=functions.f "
            "<|constrain|>json<|message|>{}<|call|>",
            "commentary to=functions.f <|constrain|>json<|message|>{}",
            "a",
        ),
        ("analysisSo 3 + 4.\nassistantfinal7", "7", "So 3 + 4."),
    ],
)
def test_reasoning_in_front_of_a_reply_is_no_part_of_it(text, reply, reasoning):
    assert read(text) == (reply, reasoning)
    assert read(text, ()) == (reply, reasoning)


def test_stop_strings_count_only_behind_the_reasoning():
    text = "<think>\nObservation: a\n</think>\n\nThought: b\nObservation: c"
    assert read(text, ("\nObservation:",)) == ("Thought: b", "Observation: a")
    assert read("\n \n7\n8") == ("7", "")


TOKENS = [(family, token) for family, tokens in END_TOKENS.items() for token in tokens]


@pytest.mark.parametrize(("family", "token"), TOKENS)
def test_the_text_ends_at_the_end_token_of_any_family(family, token):
    for text in (f"7{token}", f"<think>a</think>7 {token}\n8", f"7{token}{token}x</s>"):
        assert read(text, ())[0] == "7", family
        made = completion(text, (), truncated=True)
        assert (made.text, made.finish_reason, made.message) == ("7", "stop", text)


@pytest.mark.parametrize(
    "token",
    [
        "<s>",
        "<bos>",
        "<|begin_of_text|>",
        "<｜begin▁of▁sentence｜>",
        "<BOS_TOKEN>",
        "[gMASK]<sop>",
        "<|im_start|>assistant\n",
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<start_of_turn>model\n",
        "<|assistant|>\n",
        "<｜Assistant｜>",
        "[/INST] ",
        "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
        "<|start_of_role|>assistant<|end_of_role|>",
        "<s> <s>",
    ],
)
def test_start_tokens_in_front_are_removed(token):
    assert read(f" {token}7\n8") == ("7", "")


@pytest.mark.parametrize("text", ["a <| b |> c", "<b>7</b>", "x < 7 [1]", "[ INST ]", "</think", "a <end> b", "<|x|>"])
def test_ordinary_text_is_as_it_was(text):
    assert read(text) == (text, "")
    assert not completion(text, LINE, truncated=False).message


def test_the_turn_of_another_role_is_no_reply():
    assert read("<|im_start|>user\nWhat is 3 + 4?", ()) == ("", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n 7 ", ""),
        ("7\n8", ""),
        ("7\n8</s>", ""),
        ("7</s>", "7</s>"),
        ("<s>7", "<s>7"),
        ("<think>\0a</think>7", "<think>\ufffda</think>7"),
    ],
)
def test_what_was_sent_is_stored_where_more_than_white_space_and_stop_strings_was_removed(text, message):
    assert completion(text, LINE, truncated=False).message == message


@pytest.mark.parametrize(
    ("text", "how", "reason"),
    [
        ("<think>a", {"truncated": True}, "length"),
        ("<think>", {"truncated": True}, "length"),
        ("", {"truncated": True, "reasoning": "a"}, "length"),
        ("", {"truncated": True, "reasoning_tokens": 5}, "length"),
        ("", {"truncated": True, "completion_tokens": 5}, "length"),
        ("\n\n", {"truncated": True, "completion_tokens": 5}, "empty"),
        ("", {"truncated": True}, "empty"),
        ("<think>a", {"truncated": False}, "empty"),
        ("<think>a</think>7", {"truncated": True}, "length"),
        ("<think>a</think>7\n8", {"truncated": True}, "stop"),
        ("<think>a</think>", {"truncated": False}, "empty"),
    ],
)
def test_an_empty_reply_that_reached_the_limit_thinking_says_so(text, how, reason):
    made = completion(text, LINE, **how)
    assert made.finish_reason == reason
    assert made.is_only_reasoning is (not made.text and (bool(made.reasoning) or reason == "length"))


@pytest.mark.parametrize("rules", [1, 2])
def test_replies_of_earlier_versions_are_read_as_they_were(rules):
    how = {"reasoning": "c", "reasoning_tokens": 3, "message": {"content": "x"}}
    made = completion("<think>a</think>7<|im_end|>\nb", LINE, truncated=True, rules=rules, **how)
    assert (made.text, made.reasoning, made.reasoning_tokens) == ("<think>a</think>7<|im_end|>", "", 0)
    assert not made.message
    assert completion("\n7", LINE, truncated=False, rules=rules).finish_reason == "empty"
    assert completion("", LINE, truncated=True, completion_tokens=5, rules=rules).finish_reason == "empty"


def test_reasoning_is_storable_and_counted():
    made = completion("<think>a\0</think>b\0", (), truncated=False, reasoning="c\ud800", reasoning_tokens=4)
    assert (made.text, made.reasoning, made.replaced) == ("b\ufffd", "c\ufffd\n\na\ufffd", 3)
    assert made.reasoning_tokens == 4


_PIECES = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<thought>",
        "</thought>",
        "[THINK]",
        "[/THINK]",
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "<|start|>assistant<|channel|>final<|message|>",
        "</s>",
        "<s>",
        "\n",
        " ",
        "a",
        "7",
        "analysis",
        "assistantfinal",
    ]
)


@given(st.lists(_PIECES, max_size=12).map("".join), st.lists(st.sampled_from(["\n", "a", "7"]), max_size=2))
def test_every_text_is_read_and_nothing_is_invented(text, stops):
    reading = read_text(text, stops)
    assert reading.text in text and reading.text == reading.text.strip()
    assert all(block in text for block in reading.reasoning.split("\n\n"))
    assert not any(stop in reading.text for stop in stops)
    assert not (reading.is_open and reading.text)
    assert reading.is_changed or (reading.reasoning, reading.text) == ("", text.strip()) or reading.has_stopped


def test_tags_beyond_the_most_are_in_the_last_block():
    assert read("<think>" * MAX_TAGS + "</think>7", ()) == ("", "<think>" * (MAX_TAGS - 1) + "</think>7")
