"""What a subgoal seeks, in the words of its line or of its question."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lumos_queue.benchmarks.asdiv import rationale as asdiv
from lumos_queue.benchmarks.gsm8k import rationale as gsm8k
from lumos_queue.rationales.maths import equations
from lumos_queue.rationales.maths.blanks import describe_blank


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("The tip came out to 110*.3=$", "33", "the tip"),
        ("He tips so he pays 110*.3=$", "33", "the blank in 'He tips so he pays $___'"),
        ("Insurance covers 90*.4=$", "36.", "the blank in 'Insurance covers $___'"),
        ("So, Ida will have 5 cups + 7 cups = ", "12 cups then.", "the blank in 'Ida will have ___ cups'"),
        ("Ann makes 12 points off shots because 3 x 4 = ", "12", "the blank in 'Ann makes ___ points off shots'"),
        ("The pens go because 3 x 4 = ", "12", "the blank in 'The pens go: ___'"),
        (
            "He sold 8 at $9 each for a total of 3*4 = $",
            "12",
            "the blank in 'He sold … at $… each for a total of $___'",
        ),
        ("The total number of boys is 5+7 = ", "12", "the total number of boys"),
        ("Ida's last price was 5+7 = $", "12.", "Ida's last price"),
        ("Two pens cost 5+7 = $", "12.", "how much two pens cost"),
        ("The shop is big and the house is 5+7 = ", "12", "the blank in 'The shop is big and the house is ___'"),
        ("5 + 7 = ", "12", None),
        ("So R2 walks 5 + 7 = ", "12 km", None),
        ("Twelve eggs need 5 + 7 = ", "12", "the blank in '… eggs need ___'"),
    ],
)
def test_a_line_says_what_it_calculates_with_its_result_left_blank(before, after, expected):
    stated = {Fraction(number) for number in (2, 5, 7, 12)}
    found = describe_blank(before, after, Fraction(33 if "33" in after else 36 if "36" in after else 12), stated)
    assert found == expected


def test_what_was_calculated_before_in_the_line_is_left_out():
    assert describe_blank("6 red ones, so Ida has 6+7 = ", "13 pens.", Fraction(13), {Fraction(7)}, continues=True) == (
        "the blank in 'Ida has ___ pens'"
    )


def test_a_unit_alone_is_not_what_a_subgoal_seeks():
    solution = "First find the time Ida spends on cakes: 5 minutes * 4 = <<5*4=20>>20 minutes\n20+9=<<20+9=29>>29 pens"
    first, second = gsm8k.annotate("5 minutes, 4 cakes, 9 more", solution, "29").steps
    assert "the blank in 'First find the time Ida spends on cakes: ___ minutes'" in first.subgoal.text
    assert "how many pens" in second.subgoal.text


def test_a_subgoal_without_words_of_its_line_has_those_of_the_question():
    steps = gsm8k.annotate("Ida has 4 boxes of 5. How many pens is that?", "<<4*5=20>>", "20").steps
    assert steps[0].subgoal.text == "Subgoal 1: Calculate the answer to 'How many pens is that?' by multiplying 4 by 5."


def test_an_inner_operation_of_an_equation_quotes_what_states_its_numbers():
    question = "Ida has 43 books, and Tom has 14 books. He sold 19. How many are left?"
    steps = equations.annotate(question, "- + 43 14 19", "38").steps
    assert steps[0].subgoal.text == (
        "Subgoal 1: Calculate what follows from 'Ida has 43 books' and 'Tom has 14 books' by adding 43 and 14."
    )
    steps = asdiv.annotate(question, "43+14=57; 57-19=38", "38").steps
    assert "'Ida has 43 books' and 'Tom has 14 books'" in steps[0].subgoal.text


def test_a_clause_with_the_name_of_a_variable_is_not_quoted():
    steps = equations.annotate("R2 has 43 books, and Tom has 14 books. He sold 19.", "- + 43 14 19", "38").steps
    assert steps[0].subgoal.text == "Subgoal 1: Calculate what follows from 'Tom has 14 books' by adding 43 and 14."
