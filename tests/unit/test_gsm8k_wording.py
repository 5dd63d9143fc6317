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
        ("The tip came out to 3*4=$#", "the tip"),
        ("He tips well so he pays 3*4=$#", "how much money he pays"),
        ("On Saturday, Ida sold 3*4=# boxes.", "how many boxes Ida sold on Saturday"),
        ("In total they buy 3*4=# cups.", "how many cups they buy in total"),
        ("If she bakes daily, she needs 3*4=# cups of flour.", "how many cups of flour she needs if she bakes daily"),
        ("There are 3*4=# goats in the barn.", "how many goats there are in the barn"),
        ("Ida's brother is 3*4=# years old.", "how old Ida's brother is"),
        ("The rugs cost 3*4=$#", "how much the rugs cost"),
        ("It takes him 3*4=# minutes to mop.", "how many minutes it takes him to mop"),
        ("He gets a 3*4=$# discount on the second lamp.", "the discount he gets on the second lamp"),
        ("Each stall makes a profit of 3*4=$#", "the profit each stall makes"),
        ("Ann scored 12 points off serves because 3 x 4 =# ", "how many points Ann scored off serves"),
        (
            "Then divide the ink by the pens to find the number of caps they need: 3*4=# caps",
            "the number of caps they need",
        ),
        ("First find the weight of the sack: 3*4=# pounds", "the weight of the sack in pounds"),
        ("First convert the length to feet: 3*4=# feet", "the length in feet"),
        ("Third stall: 3*4=# plums", "the number of plums for 'Third stall'"),
        ("Its new size is 3*4=#", "its new size"),
        ("The shelf has 3*4=# cups and plates in May.", "how many cups and plates the shelf has in May"),
        (
            "After lunch Ben was on the 3*4=#th floor of the mall.",
            "the answer to 'After lunch Ben was on which floor of the mall?'",
        ),
        ("Then add the tax 3*4=$#", "the amount of money for 'Add the tax'"),
        ("There are 3*4=# boys in Ms. Orr's room.", "how many boys there are in Ms Orr's room"),
        ("Then find how many hours the trip will be: 3*4=# hours", "how many hours the trip will be"),
        ("Ed spends 3*4=# hours sleeping.", "how many hours Ed spends sleeping"),
        ("3*4=# her score in all games", "her score in all games"),
        ("So far, she has baked 3*4=# buns.", "how many buns she has baked"),
        ("A fifth of the goats equals 3*4=# goats.", "the number of goats for 'A fifth of the goats'"),
        ("Ed jogs for 5 days so that is 3*4=# laps.", "the answer to 'Ed jogs for 5 days so that is how many laps?'"),
        (
            "Ida has 3 red and 5 blue for a total of 3*4=# pens.",
            "the answer to 'Ida has 3 red and 5 blue for a total of how many pens?'",
        ),
    ],
)
def test_the_number_of_a_line_is_a_noun_phrase(line, target):
    assert quantity(line) == target


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
    solution = "There are 3*4=<<3*4=12>>12 plums.\nThere are 5*4=<<5*4=20>>20 plums.\n12+20=<<12+20=32>>32 plums"
    texts = quantities(question, solution, "32")
    assert texts[:2] == ["how many plums there are", "the answer to 'There are how many plums?'"]
    assert len(set(texts)) == 3


def test_equal_calculations_without_words_are_told_apart():
    texts = quantities("4 and 4 and 4 and 4", "<<4*4=16>>\n<<4*4=16>>\n<<4*4=16>>\n<<16+16+16=48>>", "48")
    assert texts[1:3] == ["the second result of this form", "the third result of this form"]


ROW = "Una has 3 bags of 4 nuts and 5 dollars. How many nuts does she have after lunch?"


def fits(*lines: str) -> list[bool]:
    return find_fitting_questions(calculations("\n".join(lines), None, True), ROW)


def test_a_sub_question_that_fits_is_kept():
    line = "How many nuts are in the bags? ** The bags have 3*4=<<3*4=12>>12 nuts."
    assert fits(line) == [True]
    assert quantities(ROW, line, "12") == ["the answer to 'How many nuts are in the bags?'"]


@pytest.mark.parametrize(
    "line",
    [
        "How many dollars does she have? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How many nuts are in 5 bags? ** The bags have 3*4=<<3*4=12>>12 nuts.",
        "How many nuts are in the bags? ** The bags cost 3*4=$<<3*4=12>>12.",
        "What percentage of the nuts is left? ** The bags have 3*4=<<3*4=12>>12 nuts.",
    ],
)
def test_a_sub_question_with_another_unit_or_number_gives_way_to_the_line(line):
    assert fits(line) == [False]
    assert quantities(ROW, line, "12")[0] in ("how many nuts the bags have", "how much the bags cost")


def test_a_sub_question_that_two_lines_have_is_left_out():
    first = "How many nuts does Una have now? ** The bags have 3*4=<<3*4=12>>12 nuts."
    second = "How many nuts did Una have now? ** She eats some and has 12-5=<<12-5=7>>7 nuts."
    assert fits(first, second) == [False, False]
    assert quantities(ROW, f"{first}\n{second}", "7")[0] == "how many nuts the bags have"


def test_the_question_of_the_row_belongs_to_the_last_line():
    final = "How many nuts does she have after lunch?"
    first, second = "The bags have 3*4=<<3*4=12>>12 nuts.", "She has 12-5=<<12-5=7>>7 nuts."
    assert fits(f"{final} ** {first}", f"What is left? ** {second}") == [False, True]
    assert fits(f"What do the bags have? ** {first}", f"{final} ** {second}") == [True, True]


def test_a_sub_question_of_the_neighbouring_line_is_left_out():
    lines = [
        "What did the golden lamps cost? ** The nuts have 3*4=<<3*4=12>>12 shells.",
        "What happened then? ** The golden lamps cost 12+5=$<<12+5=17>>17.",
    ]
    assert fits(*lines) == [False, True]


@pytest.mark.parametrize("text", ["a" * 20_000, "on " * 9_000, "$1 " * 6_000, "'s, the " * 4_000, "(" * 20_000])
def test_hostile_lines_give_a_subgoal(text):
    solution = f"{text[:9_000]} 3*4=<<3*4=12>>12 {text[:9_000]}"
    assert len(annotate("Numbers: 3 and 4.", solution, "12", 2).steps) == 1
