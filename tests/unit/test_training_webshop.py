"""Training from scratch: the gold of the generated shop as a source; a model with a tokenizer of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lumos_queue.benchmarks.registry import open_source
from lumos_queue.benchmarks.webshop.tasks import annotate, goals
from lumos_queue.conversion.check import AnnotationCheck
from lumos_queue.conversion.lengths import estimate_tokens
from lumos_queue.conversion.teacher import TeacherReply
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.model_folder import check_folder
from lumos_queue.errors import SpecError
from lumos_queue.jobs.train import Train
from lumos_queue.prompts.conversations import Conversation, write_conversations
from lumos_queue.prompts.dialogue import Turn
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation, Task
from lumos_queue.training.presets import CONTINUED_RATE
from lumos_queue.training.recipes.registry import run_item
from lumos_queue.training.recipes.sft import sft


def conversation(number: int, thing: str = "hats") -> Conversation:
    head = DOMAINS.load("webshop").ground_head
    asked = Turn("user", f"{head}Task: buy {number} {thing} \nSubgoal to be grounded: Subgoal 1: Buy {thing}.")
    return Conversation(
        "shop/iterative/grounder", f"shop/{number}", (asked, Turn("assistant", f"R1 = Click({number})"))
    )


@pytest.fixture
def build(tmp_path) -> Path:
    folder = tmp_path / "build"
    folder.mkdir()
    write_conversations(map(conversation, range(40)), folder / "grounder_iterative.jsonl")
    return folder


def test_the_gold_of_the_shop_is_accepted_for_both_modules():
    source = open_source("webshop")
    for task in goals("train", 5):
        check = AnnotationCheck(source, task, 1024, estimate_tokens)
        assert len(check.check(TeacherReply(source.annotation(task).steps))) == 5
        assert not check.verdicts and check.compute_level() == "format" and source.gold_answer(task) == "Done"
    with pytest.raises(NotConvertible):
        source.annotation(Task("webshop", "", "1", "buy a hat", {}, {"goal": {}}))


def text_of(annotation: Annotation) -> str:
    steps = annotation.steps
    return "\n".join(" ".join((s.subgoal.text, *(a.arguments for a in s.actions), *s.results)) for s in steps)


def test_the_items_are_numbered_anew_in_the_same_way_all_through_a_task():
    source = open_source("webshop")
    for task in goals("train", 5):
        mine, shop = text_of(source.annotation(task)), text_of(annotate(task))
        names = dict(zip(re.findall(r"b\d{5}", shop), re.findall(r"b\d{5}", mine), strict=True))
        assert len(names) == len(set(names.values())) > 2 and all(old != new for old, new in names.items())
        assert re.sub(r"b\d{5}", lambda found, names=names: names[found[0]], shop) == mine
        assert text_of(source.annotation(task)) == mine, "not the same a second time"


def test_a_tokenizer_has_the_phrases_that_its_texts_hold_and_no_others():
    from lumos_queue.training.scratch import learn_tokenizer, phrases

    tokenizer = learn_tokenizer(lambda: (conversation(number).text() for number in range(20)))
    text = conversation(3).text()
    head = DOMAINS.load("webshop").ground_head
    assert len(tokenizer(head, add_special_tokens=False)["input_ids"]) == 1
    added = {one.content for one in tokenizer.added_tokens_decoder.values()}
    assert {phrase for phrase in phrases("maths", "webshop") if phrase in text} <= added
    assert DOMAINS.load("maths").ground_head not in added and "Subgoals to be grounded: " not in added
    assert tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"]) == text


def test_digits_of_a_number_stand_alone_and_those_of_a_name_by_threes():
    from lumos_queue.training.tokenizer import train_tokenizer

    tokenizer = train_tokenizer(["item b78069 and b78012 for 780 dollars"] * 9, 400, ())
    assert tokenizer.tokenize("b78069 for 780") == ["b", "780", "69", "Ġfor", "Ġ", "7", "8", "0"]


def test_numbers_that_are_only_copied_are_read_by_threes():
    from lumos_queue.training.tokenizer import train_tokenizer

    tokenizer = train_tokenizer(["the fee of SH-78069 is 78012, of 780 items"] * 9, 400, (), copies=True)
    assert tokenizer.tokenize("SH-78069") == ["SH-", "780", "69"]
    assert tokenizer.tokenize(" 78012, 780") == ["Ġ", "780", "12", ",", "Ġ", "780"]


@pytest.mark.long
def test_from_scratch_gives_a_model_of_the_starters_shape_that_says_so(build, tmp_path):
    recipe = sft([build], "scratch", tmp_path / "out", "iterative", steps=2, window=1)
    assert Train.from_json(json.loads(json.dumps(Train(recipe).as_json()))) == Train(recipe)
    done = [run_item(recipe, window).output for window in recipe.windows()]
    assert done[0]["counts"]["train: build/grounder_iterative.jsonl"] == 40
    folder = Path(done[-1]["model"].removeprefix("local:"))
    check_folder(folder)
    assert json.loads((folder / "config.json").read_text())["hidden_size"] == 192
    assert json.loads((folder / "made-from.json").read_text())["base"] == {"name": "scratch", "sha256": ""}
    later = sft([build], str(folder), tmp_path / "more", "iterative", preset="scratch", steps=1, window=1)
    assert later.fit.rate == CONTINUED_RATE and later.start == str(folder)
    assert [run_item(later, window).output for window in later.windows()][1]["step"] == 1


def test_a_changed_build_is_refused_and_asked_for_anew_gives_another_tokenizer(build, tmp_path):
    from lumos_queue.training.engine.model import load_tokenizer
    from lumos_queue.training.sft import spec_of

    recipe = sft([build], "scratch", tmp_path / "out", "iterative", steps=500, window=250)
    spec = spec_of(recipe)
    assert (spec.base, spec.decay, spec.prompt_weight) == ("", 0.6, 0.1)
    run_item(recipe, {"do": "prepare"})
    first = load_tokenizer(spec.tokenizer).get_vocab()
    write_conversations([conversation(7, "umbrellas")], build / "grounder_iterative.jsonl")
    with pytest.raises(SpecError, match="have changed"):
        run_item(recipe, {"do": "prepare"})
    other = sft([build], "scratch", tmp_path / "other", "iterative", steps=500, window=250)
    assert other.fit.content != recipe.fit.content
    run_item(other, {"do": "prepare"})
    assert load_tokenizer(spec_of(other).tokenizer).get_vocab() != first
