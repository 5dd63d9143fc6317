"""How a conversation becomes one text, in both framings: spec/lumos.md, vectors A6 and A7."""

from __future__ import annotations

import pytest

from lumos_queue.prompts.dialogue import FRAMINGS, Turn, render

TWO = [Turn("user", "U1"), Turn("assistant", "A1"), Turn("user", "U2"), Turn("assistant", "A2")]


def test_the_train_framing_is_that_of_the_checkpoints():
    bos = "<s>" if FRAMINGS["train"].bos else ""
    assert bos + render(TWO, "train") == ("<s><|user|>\nU1\n<|assistant|>\nA1</s>\n<|user|>\nU2\n<|assistant|>\nA2</s>")


def test_the_eval_framing_is_that_of_the_published_numbers():
    assert render(TWO[:3], "eval") == "<|user|>\nU1\n<|assistant|>\nA1\n\n<|user|>\nU2\n<|assistant|>\n"
    assert render(TWO, "eval") == render(TWO[:3], "eval") + "A2"
    assert not FRAMINGS["eval"].bos


def test_only_the_train_framing_strips_user_turns():
    turns = [Turn("user", " U1 \n"), Turn("assistant", " A1 ")]
    assert render(turns, "train") == "<|user|>\nU1\n<|assistant|>\nA1</s>"
    assert render(turns, "eval") == "<|user|>\n U1 \n<|assistant|>\nA1"


@pytest.mark.parametrize("turns", [TWO[1:], [TWO[0], TWO[2]], [TWO[0], TWO[1], TWO[3]]])
def test_turns_that_do_not_alternate_are_refused(turns):
    with pytest.raises(ValueError, match="alternate"):
        render(turns, "train")
