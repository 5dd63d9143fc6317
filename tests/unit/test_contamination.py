"""Thirteen masked words in a row, wherever they stand, are found in a test split; twelve are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lumos_queue.builds.contamination import TestSplits, task_key, text_key
from lumos_queue.builds.known_benchmarks import KnownBenchmarks

# Thirteen words of lower case: none is a number or a name, so that masking leaves them alone.
SHARED = "every morning the baker counts how many warm rolls lie behind his window"
BEFORE = "It is told of a small town by the sea that"
AFTER = "while children wait outside before school begins again"


def splits(folder: Path, *questions: str) -> TestSplits:
    """A split of its own for each of the questions."""
    given = []
    for number, question in enumerate(questions):
        path = folder / f"{number}.jsonl"
        path.write_text(json.dumps({"question": question, "answer": "#### 2"}), encoding="utf-8")
        given.append(f"gsm8k:{path}")
    return TestSplits(given, KnownBenchmarks())


def test_the_shared_words_are_thirteen():
    assert len(SHARED.split()) == 13


@pytest.mark.parametrize("kept", [f"{SHARED} {AFTER}.", f"{BEFORE} {SHARED}.", f"{BEFORE} {SHARED} {AFTER}.", SHARED])
@pytest.mark.parametrize("asked", [f"Well: {SHARED}?", f"{SHARED}, or so it seems to us.", f"Then {SHARED} as ever."])
def test_thirteen_words_are_found_at_the_beginning_in_the_middle_and_at_the_end(tmp_path, kept, asked):
    assert splits(tmp_path, kept).find(asked) == ("gsm8k:0.jsonl", "13 words")


@pytest.mark.parametrize("fewer", [SHARED.partition(" ")[2], SHARED.rpartition(" ")[0]])
def test_twelve_words_are_not_found(tmp_path, fewer):
    found = splits(tmp_path, f"{BEFORE} {SHARED} {AFTER}.")
    assert found.find(f"Well: {fewer}") is None and found.find(f"{fewer}, or so") is None


def test_a_text_of_fewer_words_is_found_only_whole(tmp_path):
    found = splits(tmp_path, "How many warm rolls lie there?")
    assert found.find("how many warm  ROLLS lie there") == ("gsm8k:0.jsonl", "equal text")
    assert found.find("How many warm rolls lie there now?") is None


def test_every_split_is_looked_into_and_the_first_is_named(tmp_path):
    found = splits(tmp_path, "How many pears?", f"{SHARED}.", f"{SHARED}.")
    assert found.find(f"{SHARED}!") == ("gsm8k:1.jsonl", "equal text")
    assert found.find(f"Well: {SHARED}") == ("gsm8k:1.jsonl", "13 words")


def test_texts_without_a_latin_word_are_told_apart(tmp_path):
    one, other = "这个问题里没有拉丁字母", "别的问题也没有"
    found = splits(tmp_path, one)
    assert found.find(one) and found.find(other) is None
    assert task_key(one) != task_key(other) and text_key(one) != text_key(other)
    assert task_key("Я  иду") == task_key("я иду")
