"""Constraints as tokens, for tokenizers of several families: nothing is lost, added or spelt another way."""

from __future__ import annotations

import random
from dataclasses import replace
from math import isclose

import pytest

from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.endpoints import token_constraint
from lumos_queue.endpoints.token_constraint import TokenConstraint
from lumos_queue.errors import SpecError
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.models.folders import models_folder
from lumos_queue.models.tokens import prepare_tokenizer
from tests.plan_spaces import random_constraint, write_plans
from tests.plan_tokenizers import PHRASES, llama_tokenizer, make_crossing_tokenizer, own_tokenizer, t5_tokenizer

BEFORE = f"{PHRASES[0]}Given noisy image, how to return the caption in English step by step?{PHRASES[1]}"
MADE = {"own": lambda _: own_tokenizer(), "t5": t5_tokenizer, "llama": llama_tokenizer}
QUESTIONED = PlanConstraint(next(task.signature for task in TASKS if task.category == "image+text-text"))
RESTORED = PlanConstraint(TASKS[0].signature)


@pytest.fixture(scope="module", params=[*MADE, "smollm2"])
def tokenizer(request, tmp_path_factory):
    if request.param in MADE:
        return MADE[request.param](tmp_path_factory.mktemp(request.param))
    base = models_folder() / "smollm2"
    if not base.is_dir():
        pytest.skip("needs `lumos models get smollm2`")
    return prepare_tokenizer(base, PHRASES).tokenizer


@pytest.fixture(scope="module")
def own():
    return own_tokenizer()


def encode(tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False)


def test_gold_plans_are_spelt_as_fine_tuning_sees_them(tokenizer):
    # A tokenizer that puts a space in front, and none after a line break, is that of a decoder of its own.
    befores = [""] if "T5" in type(tokenizer).__name__ else ["", BEFORE, "Question: x?\nPlan:\n"]
    for before in befores:
        for task in TASKS:
            constraint, text = PlanConstraint(task.signature), task.plan.write()
            traced = TokenConstraint(constraint, tokenizer, tokenizer.eos_token_id, before).trace(text)
            ids = [token for token, _ in traced]
            head = encode(tokenizer, before) if before else []
            assert [*head, *ids[:-1]] == encode(tokenizer, before + text), (before, task.id)
            assert tokenizer.decode([*head, *ids[:-1]]) == before + text
            assert ids[-1] == tokenizer.eos_token_id
            assert all(token in allowed and sorted({*allowed}) == [*allowed] for token, allowed in traced)


def test_what_would_be_read_as_one_with_the_end_of_the_prompt_is_written_apart(tokenizer):
    """A space and a name are often one token, and so is `:(`; the prompt stands, and the reply is the same text."""
    if "T5" in type(tokenizer).__name__:
        pytest.skip("reads no space at the end of a text")
    for before in ("Plan: ", "Plan:"):
        head, joined = encode(tokenizer, before), []
        for task in TASKS:
            text = task.plan.write()
            tokens = TokenConstraint(PlanConstraint(task.signature), tokenizer, tokenizer.eos_token_id, before)
            ids = [token for token, _ in tokens.trace(text)[:-1]]
            assert tokenizer.decode([*head, *ids]) == before + text
            joined.append(encode(tokenizer, before + text)[: len(head)] != head)
        assert any(joined) or before == "Plan:"


@pytest.mark.parametrize("make", [*MADE.values(), lambda _: make_crossing_tokenizer()], ids=[*MADE, "crossing"])
def test_every_way_through_the_tokens_is_a_plan_and_every_plan_has_one_way(make, tmp_path):
    """With every allowed token equally likely, the probabilities of all replies add up to 1: nothing is a dead end."""
    tokenizer, checked = make(tmp_path), 0
    for seed in range(300):
        constraint = random_constraint(seed)
        texts = write_plans(constraint)
        if not 0 < len(texts) <= 40:
            continue
        found, total = {}, 0.0
        waiting = [((), 1.0, TokenConstraint(constraint, tokenizer, tokenizer.eos_token_id).start())]
        while waiting:
            ids, probability, cursor = waiting.pop()
            if cursor.ended:
                assert cursor.allowed == ()
                found[ids] = tokenizer.decode(ids[:-1])
                total += probability
            share = probability / max(len(cursor.allowed), 1)
            waiting += [((*ids, token), share, cursor.advance(token)) for token in cursor.allowed]
        assert sorted(found.values()) == sorted(texts), seed
        assert isclose(total, 1), seed
        tokens = TokenConstraint(constraint, tokenizer, tokenizer.eos_token_id)
        assert {tuple(token for token, _ in tokens.trace(text)) for text in texts} == {*found}
        checked += 1
    assert checked > 100


def test_random_ways_through_the_catalogue_are_plans(tokenizer):
    draw = random.Random(0)
    for constraint in (QUESTIONED, replace(QUESTIONED, goal_aware=False), RESTORED):
        tokens = TokenConstraint(constraint, tokenizer, tokenizer.eos_token_id)
        for _ in range(40):
            cursor, ids = tokens.start(), []
            while not cursor.ended:
                ids.append(draw.choice(cursor.allowed))
                cursor = cursor.advance(ids[-1])
            text = tokenizer.decode(ids[:-1])
            assert constraint.accepts(text)
            assert [token for token, _ in tokens.trace(text)] == ids


def test_what_is_given_leaves_no_choice(own):
    begun = replace(QUESTIONED, branches=(("Image Denoising",), ("Fill Mask",)))
    traced = TokenConstraint(begun, own, own.eos_token_id).trace(
        "(Image Denoising,)(Fill Mask,)Visual Question Answering,"
    )
    head = encode(own, "(Image Denoising,)(Fill Mask,)Visual Question Answering")
    assert all(allowed == (token,) for token, allowed in traced[: len(head)])
    assert own.eos_token_id in traced[-1][1] and len(traced[-1][1]) > 1


def test_one_mark_may_be_the_beginning_of_another(own):
    tokens = TokenConstraint(QUESTIONED, own, own.eos_token_id)
    cursor = tokens.start()
    for token in encode(own, "(Image Denoising"):
        cursor = cursor.advance(token)
    marks = {own.decode([token]) for token in cursor.allowed}
    assert "," in marks and marks <= {",", ",)", ",)(", ",)()"}


def test_a_token_that_is_not_allowed_and_a_text_that_is_not(own):
    tokens = TokenConstraint(RESTORED, own, own.eos_token_id)
    with pytest.raises(KeyError):
        tokens.start().advance(own.eos_token_id)
    with pytest.raises(KeyError):
        tokens.start().advance(10**9)
    for text in ("", "Colorization", "Colorization,Colorization,", "Image Captioning,", "x" * 1_000_000):
        with pytest.raises(ValueError, match="not an allowed reply"):
            tokens.trace(text)


def test_cursors_are_found_again_and_only_so_many_are_kept(own, monkeypatch):
    tokens = TokenConstraint(RESTORED, own, own.eos_token_id)
    first = tokens.start()
    assert first is tokens.start() and first.advance(first.allowed[0]) is first.advance(first.allowed[0])
    monkeypatch.setattr(token_constraint, "MAX_CURSORS", 20)
    few = TokenConstraint(RESTORED, own, own.eos_token_id)
    for task in TASKS[:15]:
        assert few.trace(task.plan.write()) == tokens.trace(task.plan.write())
        assert len(few._cursors) <= 20


def test_a_tokenizer_that_cannot_write_a_name_is_told_in_one_line():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"[UNK]": 0, "</s>": 1, "Image": 2, "Denoising": 3, ",": 4}
    plain = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    wrong = PreTrainedTokenizerFast(tokenizer_object=plain, unk_token="[UNK]", eos_token="</s>")
    with pytest.raises(SpecError, match=r"^The tokenizer cannot write '[A-Z][A-Za-z ]+' after ''") as told:
        TokenConstraint(RESTORED, wrong, 1)
    assert "\n" not in str(told.value)


def test_a_name_that_ends_a_reply_is_told_in_one_line(own):
    ending = replace(
        RESTORED.registry[0], name="</s>", slots=RESTORED.signature.inputs, output=RESTORED.registry[8].output
    )
    with pytest.raises(SpecError, match="cannot write '</s>': it is read as the end of a reply"):
        TokenConstraint(replace(RESTORED, registry=(ending,)), own, own.eos_token_id)


def test_a_token_that_is_added_later_is_used():
    tokenizer, plan = own_tokenizer(), "Image Denoising,"
    before = TokenConstraint(RESTORED, tokenizer, tokenizer.eos_token_id).trace(plan)
    tokenizer.add_tokens(["Image Denoising"])
    after = TokenConstraint(RESTORED, tokenizer, tokenizer.eos_token_id).trace(plan)
    assert after[0][0] == len(tokenizer) - 1 and len(after) == 3 < len(before)
