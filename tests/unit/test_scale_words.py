"""Words behind a number that make it another number."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.scoring.numeric import numeric_scores, read_number, same_number
from lumos_queue.scoring.scale_words import SCALES, read_scale


@pytest.mark.parametrize(
    "answer",
    [
        *(f"7 {word}" for word in SCALES),
        *("7K", "7k", "7 k", "$7 K", "7 K dollars", "$7m", "$7 m", "$7b", "7M", "7 M", "7bn", "US$ 7 bn", "-$7m"),
        *("7 quarters", "7 thirds", "7 halves", "7 fifths", "1 third", "7 quarters of it", "7 hundredths", "7 tens"),
        *("7 and a half", "7 and a quarter dozen", "7 full dozens", "7 grand", "7 (thousand)", "7 Thousand people"),
    ],
)
def test_a_number_before_a_scale_word_is_not_the_bare_number(answer):
    assert read_number(answer) is None
    assert not same_number(answer, "7") and not same_number(answer, "1")


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("7 pens", 7),
        ("300 K", 300),
        ("7 kg", 7),
        ("7 km", 7),
        ("7 m", 7),
        ("7 m of rope", 7),
        ("$7", 7),
        ("7 third graders", 7),
        ("7 (quarters)", 7),
        ("7 seconds", 7),
        ("7 grand pianos", 7),
        ("7 tents", 7),
        ("7 tonnes", 7),
    ],
)
def test_a_unit_changes_nothing(answer, number):
    assert read_number(answer) == number


@pytest.mark.parametrize(
    ("text", "money", "factor"),
    [
        (" thousand", False, 1000),
        (" hundred thousand dollars", False, 100_000),
        ("k", False, 1000),
        ("m", True, 10**6),
        ("m", False, 1),
        (" mn", False, 10**6),
        (" dozens", False, 12),
        (" pens", False, 1),
        ("", False, 1),
        ("K", False, 1000),
        (" K", False, 1),
        (" quarters", False, None),
    ],
)
def test_a_certain_word_multiplies(text, money, factor):
    assert read_scale(text, money=money)[0] == (None if factor is None else Fraction(factor))


def test_the_metric_says_that_it_is_another_version():
    accuracy, strict = numeric_scores("7 dozens", "7")
    assert (accuracy.value, accuracy.version, strict.version) == (0, "3", "1")


@given(st.text(), st.booleans())
def test_any_text_may_follow_a_number(text, money):
    factor, end = read_scale(text, money=money)
    assert (factor is None or factor >= 1) and 0 <= end <= len(text)
