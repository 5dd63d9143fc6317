"""Subgoals of GSM8K's rules from version 2 on are plain English, and differ from each other. All rows are invented."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from lumos_queue.benchmarks.gsm8k.rationale import annotate, convert
from lumos_queue.rationales.maths.calculations import calculations
from lumos_queue.rationales.maths.cut_numbers import word_cut_numbers
from lumos_queue.rationales.maths.stated_results import results_stated
from lumos_queue.rationales.maths.sub_questions import find_fitting_questions


def quantities(question: str, solution: str, answer: str, version: int = 2) -> list[str]:
    """Return what each subgoal calculates, without its operation."""
    steps = annotate(question, solution, answer, version).steps
    assert not [result for step in steps for result in results_stated(step, question)]
    texts = (re.sub(r"^Subgoal \d+: (?:Calculate )?", "", step.subgoal.text) for step in steps)
    return [re.split(r" by (?:add|subtract|multiply|divid|work)ing", text)[0] for text in texts]


def quantity(line: str, question: str = "Numbers: 3, 4 and 5. How many?") -> str:
    """Return what the subgoal of the line `… 3*4=<<3*4=12>>12 …` calculates."""
    return quantities(question, line.replace("=#", "=<<3*4=12>>12").replace("=$#", "=$<<3*4=12>>12"), "12")[0]


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("The tip came out to 3*4=$#", "The tip came out to how much?"),
        ("On Saturday, Ida sold 3*4=# boxes.", "On Saturday, Ida sold how many boxes?"),
        ("If she bakes daily, she needs 3*4=# cups of flour.", "If she bakes daily, she needs how many cups of flour?"),
        ("There are 3*4=# goats in the barn.", "There are how many goats in the barn?"),
        ("Ida's brother is 3*4=# years old.", "Ida's brother is how many years old?"),
        ("It takes him 3*4=# minutes to mop.", "It takes him how many minutes to mop?"),
        ("He gets a 3*4=$# discount on the second lamp.", "He gets how much discount on the second lamp?"),
        ("Ann scored 12 points off serves because 3 x 4 =# ", "Ann scored how many points off serves?"),
        ("Then find the number of caps they need: 3*4=# caps", "Find the number of caps they need: how many caps?"),
        ("Third stall: 3*4=# plums", "Third stall: how many plums?"),
        ("Its new size is 3*4=#", "Its new size is what number?"),
        ("In May the shelf has 3*4=# cups, plates and jars.", "In May the shelf has how many cups, plates and jars?"),
        ("He changes 3*4=$# into $5 bills, and he leaves.", "He changes how much into $5 bills?"),
        ("First shirt: 3*4=$# off", "First shirt: how much off?"),
        ("After lunch Ben was on the 3*4=#th floor of the mall.", "After lunch Ben was on which floor of the mall?"),
        ("Add the tax, which is 3*4=$#", "Add the tax, which is how much?"),
        ("There are 3*4=# boys in Ms. Orr's room.", "There are how many boys in Ms Orr's room?"),
        ("Ed spends 3*4=# hours sleeping.", "Ed spends how many hours sleeping?"),
        ("So far, she has baked 3*4=# buns.", "So far, she has baked how many buns?"),
        ("Ed jogs for 5 days so that is 3*4=# laps.", "Ed jogs for 5 days so that is how many laps?"),
        ("Of the taxes, 3*4=# % are left", "Of the taxes what percentage are left?"),
        ("Bo gives 1/18 share, so 3*4=# plums", "Bo gives that fraction share, so how many plums?"),
    ],
)
def test_a_line_is_asked_for_its_number_with_all_its_words(line, target):
    assert quantity(line) == f"the answer to '{target}'"


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("Ida sold 3*4=# boxes.", "how many boxes Ida sold"),
        ("He pays 3*4=$#", "how much money he pays"),
        ("The rugs cost 3*4=$#", "how much the rugs cost"),
        ("The maid earns 3*4=$# per week.", "how much money the maid earns per week"),
    ],
)
def test_a_short_line_is_a_phrase(line, target):
    assert quantity(line) == target


def test_words_that_may_only_be_a_unit_are_not_used():
    assert quantity("3*4=# square feet", "Numbers: 3 and 4. Multiply them.") == "Multiply 3 by 4."


@pytest.mark.parametrize(
    "line",
    [
        "He sold 18 of 40 mugs at $9 each for a total of 3*4=$#",
        "Nine boxes and 17 bags need 3*4=# cords",
        "3*4=#",
        "After 60 minutes and 7% more, 3*4=# are left",
        "- : ; 3*4=#",
        "because 3*4=#",
        "so that's 3*4=$#",
    ],
)
def test_no_subgoal_has_a_blank_or_a_number_that_may_be_a_result(line):
    text = quantity(line)
    assert "_" not in text and "…" not in text and "\0" not in text
    assert not re.search(r"\b(?:18|40|9|17|60|7|12)\b|[Nn]ine|[Tt]welve", text)


def test_version_1_keeps_its_words():
    question, solution = "Numbers: 3 and 4.", "He tips well so he pays 3*4=$<<3*4=12>>12"
    assert quantities(question, solution, "12", version=1) == ["the blank in 'He tips well so he pays $___'"]
    assert annotate(question, solution, "12") == convert(question, solution, "12")[0]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("the 18 eggs", "the eggs"),
        ("18 eggs", "that many eggs"),
        ("18 dozen eggs", "that many dozen eggs"),
        ("for $18", "for that amount"),
        ("his $18 hat", "his hat"),
        ("18% of them", "that percentage of them"),
        ("a 1/18 share", "that fraction share"),
        ("18 + $27 - 19", "that number"),
        ("it was 18", "it was that number"),
        ("on day 18", "on the eighteenth day"),
        ("the 18th goat", "the eighteenth goat"),
        ("5 eggs", "5 eggs"),
        ("1 egg and one pen", "an egg and a pen"),
        ("one hour", "an hour"),
        ("each one", "each"),
        ("on day 5, the 5th", "on day 5, the 5th"),
        ("on day 99", "on day that number"),
        ("the first 18 eggs", "the first eggs"),
        ("\0 and 18 \0", " and that number"),
    ],
)
def test_cut_numbers_become_words(text, target):
    assert word_cut_numbers(text, {Fraction(5)}).rstrip() == target


def test_equal_subgoals_are_made_different():
    question = "Bo fills 3 jars with 4 plums each on Monday and 5 jars with 4 plums each on Tuesday. How many plums?"
    solution = "Bo has 3*4=<<3*4=12>>12 plums.\nBo has 5*4=<<5*4=20>>20 plums.\n12+20=<<12+20=32>>32 plums"
    texts = quantities(question, solution, "32")
    assert texts[:2] == ["how many plums Bo has", "the answer to 'Bo has how many plums?'"]
    assert len(set(texts)) == 3


def test_equal_calculations_without_words_are_told_apart():
    texts = quantities("4 and 4 and 4 and 4", "<<4*4=16>>\n<<4*4=16>>\n<<4*4=16>>\n<<16+16+16=48>>", "48")
    assert texts[1:3] == ["the second result of this form", "the third result of this form"]


ROW = "Una has 3 bags of 4 nuts and 5 dollars. How many nuts does she have after lunch?"


def fits(*lines: str) -> list[bool]:
    return find_fitting_questions(calculations("\n".join(lines), None, True), ROW)


@pytest.mark.parametrize(
    "line",
    [
        "How many nuts do the bags have? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How many nuts does Una have in total? ** In total she has 3*4=<<3*4=12>>12 nuts.",
        "How many nuts do the bags have per day? ** The bags have 3*4=<<3*4=12>>12 nuts per day.",
    ],
)
def test_a_sub_question_with_the_words_of_its_line_is_kept(line):
    assert fits(line) == [True]
    assert quantities(ROW, line, "12") == [f"the answer to '{line.partition(' ** ')[0]}'"]


@pytest.mark.parametrize(
    "line",
    [
        "How many dollars do the bags have? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How many nuts do 5 bags have? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How many nuts do the bags cost? ** The bags cost 3*4=$<<3*4=12>>12.",
        "What percentage of the nuts do bags have? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How many nuts does each bag have? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How many nuts do the bags have? ** The bags have 3*4=<<3*4=12>>12 nuts per day.",
        "How many nuts do the bags have in total? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How many nuts do the golden bags have? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How many bags have nuts? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How long do the bags last? ** The bags have 3*4=<<3*4=12>>12 nuts.",
    ],
)
def test_another_sub_question_gives_way_to_the_line(line):
    assert fits(line) == [False]
    assert "bags" in (text := quantities(ROW, line, "12")[0]) and line.partition(" ** ")[0] not in text


def test_a_sub_question_without_its_mark_is_left_out():
    (text,) = quantities(ROW, "How many nuts do the ** Then the bags have 3*4=<<3*4=12>>12 nuts each.", "12")
    assert text == "the answer to 'The bags have how many nuts each?'"


def test_a_sub_question_that_two_lines_have_is_left_out():
    first = "How many nuts are had? ** The nuts had are 3*4=<<3*4=12>>12 nuts."
    second = "How many nuts were had? ** The nuts had are 12-5=<<12-5=7>>7 nuts."
    assert fits(first) == fits(second) == [True]
    assert fits(first, second) == [False, False]


def test_the_question_of_the_row_belongs_to_the_last_line():
    final = "How many nuts does she have after lunch?"
    first, second = "After lunch the nuts are 3*4=<<3*4=12>>12 nuts.", "After lunch the nuts are 12-5=<<12-5=7>>7 nuts."
    assert fits(f"{final} ** {first}", second) == [False, False]
    assert fits(first, f"{final} ** {second}") == [False, True]


@pytest.mark.parametrize("text", ["a" * 20_000, "on " * 9_000, "$1 " * 6_000, "'s, the " * 4_000, "(" * 20_000])
def test_hostile_lines_give_a_subgoal(text):
    solution = f"{text[:9_000]} 3*4=<<3*4=12>>12 {text[:9_000]}"
    assert len(annotate("Numbers: 3 and 4.", solution, "12", 2).steps) == 1
