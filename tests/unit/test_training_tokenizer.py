"""The tokenizer: plain text in, the same plain text out; fixed phrases cost one token."""

from __future__ import annotations

import pytest

from lumos_queue.prompts.conversations import Conversation
from lumos_queue.prompts.dialogue import ASSISTANT, USER, Dialogue, Turn, render
from lumos_queue.records import Task

FIRST = Dialogue(Task("b", "", "1", "Ada has 12 eggs and 305 hens."), "maths").to_planner()
TURNS = (
    Turn("user", FIRST.removeprefix(USER).removesuffix("\n" + ASSISTANT)),
    Turn("assistant", "Subgoal 1: Add 12 and 305."),
    Turn("user", "The executed result for Subgoal 1 is 317. Should we stop planning?"),
    Turn("assistant", "Yes, I will stop planning."),
)
CONVERSATION = Conversation("b/iterative/planner", "1", TURNS)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """Trained, written and loaded again, as a server would."""
    from transformers import AutoTokenizer

    from lumos_queue.training.starter.work import list_phrases
    from lumos_queue.training.tokenizer import train_tokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    train_tokenizer([CONVERSATION.text()] * 3, 300, list_phrases()).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)


def test_the_text_comes_back_byte_for_byte(tokenizer):
    for text in (CONVERSATION.text(), "naïve 北京 \u00a0 12,5 €\n\n", " two  spaces ", "<|user|> without a line break"):
        assert tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) == text


def test_the_beginning_of_sequence_token_is_added_once(tokenizer):
    ids = tokenizer(CONVERSATION.text())["input_ids"]
    assert ids[0] == tokenizer.bos_token_id
    assert ids.count(tokenizer.bos_token_id) == 1
    assert tokenizer(CONVERSATION.text(), add_special_tokens=False)["input_ids"] == ids[1:]


def test_each_fixed_phrase_is_one_token_wherever_it_stands(tokenizer):
    from lumos_queue.training.starter.work import list_phrases

    for phrase in list_phrases():
        (token,) = tokenizer(phrase, add_special_tokens=False)["input_ids"]
        inside = tokenizer(f"x {phrase}y", add_special_tokens=False)["input_ids"]
        assert inside.count(token) == 1, phrase
        assert tokenizer.decode(inside, skip_special_tokens=True) == f"x {phrase}y"


def test_every_digit_is_a_token_of_its_own(tokenizer):
    pieces = [tokenizer.decode([token]) for token in tokenizer("305 eggs", add_special_tokens=False)["input_ids"]]
    assert pieces[:3] == ["3", "0", "5"]
    assert [piece for piece in tokenizer.get_vocab() if sum(map(str.isdecimal, piece)) > 1] == []


def test_the_end_of_sequence_text_is_the_end_of_sequence_token(tokenizer):
    ids = tokenizer(CONVERSATION.text(), add_special_tokens=False)["input_ids"]
    assert ids.count(tokenizer.eos_token_id) == 2
    assert ids[-1] == tokenizer.eos_token_id


def test_the_chat_template_writes_train_framing(tokenizer):
    messages = [{"role": turn.role, "content": turn.content} for turn in TURNS]
    prompt = tokenizer.apply_chat_template(messages[:3], tokenize=False, add_generation_prompt=True)
    assert prompt == render(TURNS[:3], "train")
    assert tokenizer.apply_chat_template(messages, tokenize=False) == CONVERSATION.text() + "\n"
