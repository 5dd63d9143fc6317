"""Numeric answers are compared as numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import numeric_scores, read_number, same_number
from tests.cpu_limit import cpu_limit


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("12.0", "12"),
        ("12", "12.0"),
        (" 64", "64"),
        ("3/2", "1.5"),
        ("1 1/2", "1.5"),
        ("2½ cups", "5/2"),
        ("1,080", "1080"),
        ("$1,234.50", "1234.5"),
        ("-$5", "-5"),
        ("−5", "-5"),
        ("US$ 12", "12"),
        ("25%", "25"),
        ("9 apples", "9"),
        ("9 (apples)", "9"),
        ("9 apples.", "9"),
        ("10 m/s", "10"),
        ("12 cm2", "12"),
        ("`12`", "12"),
        ("1e3", "1000"),
        (".5", "0.5"),
        ("0.3333333", "1/3"),
        ("0", "0"),
        ("18", "18 dollars"),
    ],
)
def test_the_same_number_counts_however_it_is_written(answer, gold):
    assert same_number(answer, gold)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        (None, "12"),
        ("", "12"),
        ("13", "12"),
        ("-12", "12"),
        ("12.0001", "12"),
        ("0.0000001", "0"),
        ("12 or 13", "12"),
        ("12 13", "12"),
        ("12 million", "12"),
        ("2 dozen", "2"),
        ("2x", "2"),
        ("R12", "12"),
        ("x = 12", "12"),
        ("12 - 3", "12"),
        ("12 = 12", "12"),
        ("3:45", "3"),
        ("3 r2", "3"),
        ("12.5.3", "12.5"),
        ("1,2", "1"),
        ("5/0", "5"),
        ("nan", "nan"),
        ("inf", "inf"),
        ("-inf", "-inf"),
        ("1e999999999", "1"),
        ("1e301", "1e301"),
        ("0.25", "25%"),
        ("I think it is twelve", "12"),
        ("٣", "3"),
    ],
)
def test_anything_else_is_wrong(answer, gold):
    assert not same_number(answer, gold)


def test_the_tolerance_is_relative_to_the_gold_number():
    assert same_number("1000000.9", "1000000")
    assert not same_number("1000001.1", "1000000")
    assert same_number("0.0000010000009", "0.000001")
    assert not same_number("0.0000010000011", "0.000001")


def test_strict_compares_strings():
    assert [(score.metric, score.value) for score in numeric_scores("12.0", "12")] == [("accuracy", 1), ("strict", 0)]
    assert [score.value for score in numeric_scores("12", "12")] == [1, 1]
    assert [score.value for score in numeric_scores(None, "12")] == [0, 0]


@pytest.mark.parametrize(
    "piece", ["9", " ", "1,", "1/", "-", "(", "$", "a", "9 ", "1e9", "½", "\\frac{1}{2}", "\ud800"]
)
def test_two_megabytes_take_no_time(piece):
    text = piece * (2_000_000 // len(piece))
    with cpu_limit(10):
        assert not same_number(text, "9")
        assert not same_number("9" + text, "9") or not text.strip()


@given(st.text(alphabet=st.characters(codec=None)), st.text())
def test_no_text_makes_it_raise(answer, gold):
    assert same_number(answer, gold) in (True, False)


@given(st.text(alphabet="0123456789.,+-/%$eE ½xR²m", max_size=30))
def test_whatever_is_a_number_equals_itself(text):
    assert same_number(text, text) is same_number(text, text + " ")


def test_numbers_in_figures_and_in_words():
    assert numbers_in("Seven cups, 1,200.5 g and R3 of -2") == [1200.5, 2]
    assert numbers_in("Seven cups, 1,200.5 g and R3 of -2", words=True) == [7, 1200.5, 2]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("forty-five and twenty five", [45, 25]),
        (".25 of 3.5", [0.25, 3.5]),
        ("a dozen, two dozen and half a dozen", [12, 24, 6]),
        ("one hundred one", [101]),
        ("one hundred and one", [101]),
        ("two thousand five hundred and six", [2506]),
        ("half a pound and half an hour", [0.5, 0.5]),
        ("two and a half cups", [2.5]),
        ("3 million", [3_000_000]),
        ("two five dollar bills", [2, 5]),
        ("a pen, an apple and someone", []),
        ("end.25 and R3", []),
    ],
)
def test_numbers_of_several_words_are_one(text, numbers):
    assert numbers_in(text, words=True) == numbers


@given(st.text(alphabet="0123456789,. one"))
def test_numbers_are_found_in_any_text(text):
    assert all(number >= 0 for number in numbers_in(text, words=True))


@pytest.mark.parametrize("text", ["1 3/0", "3/0", "12 .apples", "12 X", "1e301", "1e-301", "1" * 201])
def test_what_looks_like_a_number_but_is_none(text):
    assert read_number(text) is None


def test_numbers_are_read_up_to_their_limits():
    assert read_number("1e300") == 10**300 and read_number("1e-300") == Fraction(1, 10**300)
    assert read_number("12 .") == 12 and read_number("-1 3/4 cups.") == Fraction(-7, 4)
    assert read_number(f"1{' ' * 210}") == 1
    assert read_number("5 pens or 6") is None and read_number("5 red pens or pencils") == 5
    assert read_number(f"5 {'x' * 198}") == 5 and read_number(f"5 {'x' * 199}") is None
