"""Fixed phrases of texts that were written from templates."""

from __future__ import annotations

WORDS = [
    first + second for first in ("ka", "lo", "mi", "nu", "pe", "ra") for second in ("sten", "bor", "dal", "vik", "rum")
]
ROWS = [f"<|user|>\n{word}(id: string): Returns the {word} of {number}.\n" for number, word in enumerate(WORDS)]


def test_what_all_texts_have_in_common_is_a_phrase_and_what_differs_is_none():
    from lumos_queue.training.phrases import find_phrases

    found = find_phrases(lambda: ROWS, ["<|user|>"])
    assert "(id: string): Returns the " in found and " of " in found
    assert not any(name in phrase for phrase in found for name in (*WORDS, "<|user|>"))
    assert not any(digit in phrase for phrase in found for digit in "0123456789")


def test_no_phrase_ends_within_a_name_whose_digits_follow():
    from lumos_queue.training.phrases import find_phrases

    found = find_phrases(lambda: [f"the order OR-{number} of b{number}" for number in range(100, 150)], [])
    assert found == [" of ", "the order "]


def test_a_tokenizer_of_templates_reads_numbers_by_threes_and_another_digit_by_digit():
    from lumos_queue.training.scratch import learn_tokenizer

    rows = [f"The fee of SH-{number} is {number + 7}.\n" for number in range(100, 200)]
    assert learn_tokenizer(lambda: rows, templates=True).tokenize("SH-134 is 141")[-1] == "141"
    assert learn_tokenizer(lambda: rows).tokenize("SH-134 is 141")[-3:] == ["1", "4", "1"]


def test_the_same_texts_have_the_same_phrases():
    from lumos_queue.training.phrases import find_phrases

    assert find_phrases(lambda: ROWS, []) == find_phrases(lambda: iter(ROWS), [])


def test_rare_words_are_no_phrases_and_no_text_has_none():
    from lumos_queue.training.phrases import find_phrases

    assert find_phrases(lambda: [*ROWS, "once and never again " * 2], []) == find_phrases(lambda: ROWS, [])
    assert find_phrases(list, []) == []
