"""Solutions as programs: expressions, links, words, and the reasons why not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.benchmarks.asdiv import rationale as asdiv
from lumos_queue.benchmarks.gsm8k import rationale as gsm8k
from lumos_queue.rationales.maths import equations
from lumos_queue.rationales.maths.expressions import (
    Number,
    Operation,
    evaluate,
    format_expression,
    parse_infix,
    parse_prefix,
)
from lumos_queue.rationales.maths.prose import describe_quantity
from lumos_queue.rationales.reasons import REASONS, NotConvertible


def lines(annotation):
    return [(step.subgoal.text, [action.raw for action in step.actions], step.results) for step in annotation.steps]


def raws(annotation):
    return [action.raw for step in annotation.steps for action in step.actions]


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("36/3", 12, "36 / 3"),
        ("2*(3+.5)", 7, "2 * (3 + 0.5)"),
        ("8-3-2", 3, "8 - 3 - 2"),
        ("8-(3-2)", 7, "8 - (3 - 2)"),
        ("8/4*2", 4, "8 / 4 * 2"),
        ("8/(4*2)", 1, "8 / (4 * 2)"),
        ("( 40.0 - 13.0 )", 27, "40 - 13"),
        ("05+1,000", 1005, "5 + 1000"),
        ("+30-+5", 25, "30 - 5"),
        ("3*-2", -6, "3 * (-2)"),
        ("1/3+1/3+1/3", 1, "1 / 3 + 1 / 3 + 1 / 3"),
    ],
)
def test_infix_is_read_and_written_exactly(text, value, shown):
    expression = parse_infix(text)
    assert evaluate(expression) == value
    assert format_expression(expression) == shown
    assert parse_infix(shown) == expression


@pytest.mark.parametrize(
    ("text", "shown"),
    [("- 8 2", "8 - 2"), ("* 65 - 9 4", "65 * (9 - 4)"), ("- + 1 2 3", "1 + 2 - 3"), ("7", "7")],
)
def test_prefix_is_read(text, shown):
    assert format_expression(parse_prefix(text)) == shown


@pytest.mark.parametrize(
    "text", ["", "1+", "(1", "1)", "1 2", "x", "2**3", "1=1", "--1", "3%", "(" * 41 + "1" + ")" * 41, "1" * 401]
)
def test_anything_else_is_no_expression(text):
    assert parse_infix(text) is None


@pytest.mark.parametrize("text", ["", "-", "- 1", "1 2", "- 1 2 3", "( 1 )", "x 1 2"])
def test_anything_else_is_no_prefix_expression(text):
    assert parse_prefix(text) is None


trees = st.recursive(
    st.fractions(min_value=-50, max_value=50, max_denominator=1).map(Number),
    lambda inner: st.builds(Operation, st.sampled_from("+-*/"), inner, inner),
    max_leaves=12,
)


@given(trees)
def test_writing_and_reading_keep_the_tree(tree):
    assert parse_infix(format_expression(tree)) == tree


@given(st.text(alphabet="0123456789.,+-*/() x<=>#\n", max_size=60))
def test_converters_give_a_program_or_a_reason_for_any_text(text):
    for convert in (gsm8k.annotate, asdiv.annotate, equations.annotate):
        try:
            assert convert("1 and 2?", f"{text}<<{text}>>" if convert is gsm8k.annotate else text, "3").answer == "3"
        except NotConvertible as error:
            assert error.reason in REASONS


@pytest.mark.parametrize("piece", ["<<1+1=2>>", "<<", ">>", "(", "1+", "1=1;", "1,111", "how many "])
def test_megabytes_end_in_a_reason(piece):
    text = piece * (2_000_000 // len(piece))
    for convert in (gsm8k.annotate, asdiv.annotate, equations.annotate):
        with pytest.raises(NotConvertible):
            convert(text, text, "3")


def test_marks_become_linked_actions():
    solution = "He sold 36/3 = <<36/3=12>>12 tarts on Monday.\nNothing here.\nHe sold <<36+12=48>>48 tarts in all."
    assert lines(gsm8k.annotate("He sold 36 tarts on Sunday.", solution, "48")) == [
        (
            "Subgoal 1: Calculate how many tarts he sold on Monday by dividing 36 by 3.",
            ["R1 = Calculator(36 / 3)"],
            ("12",),
        ),
        (
            "Subgoal 2: Calculate how many tarts he sold in all by adding 36 and the result of Subgoal 1.",
            ["R2 = Calculator(36 + R1)"],
            ("48",),
        ),
    ]


def test_marks_of_one_line_are_one_subgoal():
    solution = "So 2*3=<<2*3=6>>6 red and 6+1=<<6+1=7>>7 blue ones, <<6*7=42>>.\n<<42-6=36>>"
    first, second = gsm8k.annotate("2, 3 and 1", solution, "36").steps
    assert [action.raw for action in first.actions] == [
        "R1 = Calculator(2 * 3)",
        "R2 = Calculator(R1 + 1)",
        "R3 = Calculator(R1 * R2)",
    ]
    assert first.results == ("6", "7", "42")
    assert "adding that result and 1" in first.subgoal.text
    assert "multiply result 1 of this subgoal by that result" in first.subgoal.text
    assert second.subgoal.text == "Subgoal 2: Subtract result 1 of Subgoal 1 from the result of Subgoal 1."
    assert second.actions[0].arguments == "R3 - R1"


def test_a_result_that_also_stands_in_the_question_is_used_once():
    solution = "<<2+3=5>>\n<<5*4=20>>\n<<20+5=25>>"
    assert raws(gsm8k.annotate("2, 3, 4 and 5", solution, "25"))[1:] == [
        "R2 = Calculator(R1 * 4)",
        "R3 = Calculator(R2 + 5)",
    ]
    assert raws(gsm8k.annotate("2, 3 and 4", solution, "25"))[1:] == [
        "R2 = Calculator(R1 * 4)",
        "R3 = Calculator(R2 + R1)",
    ]


def test_of_several_equal_results_the_latest_unused_is_meant():
    annotation, linker = gsm8k.convert("2 and 3", "<<2*3=6>>\n<<3+3=6>>\n<<6+6=12>>\n<<12/6=2>>", "2")
    assert raws(annotation)[2:] == ["R3 = Calculator(R2 + R1)", "R4 = Calculator(R3 / R2)"]
    assert (linker.link_count, linker.several, linker.ambiguous) == (4, 3, 0)


def test_a_sub_question_names_what_its_subgoal_calculates():
    solution = "How many on Monday? ** He sold 36/3 = <<36/3=12>>12 tarts.\nAre 12 enough? ** <<12*4=48>>\n"
    solution += "Are 7 left? ** <<48+2=50>>"
    texts = [step.subgoal.text for step in gsm8k.annotate("36 tarts", solution, "50").steps]
    assert texts == [
        "Subgoal 1: Calculate the answer to 'How many on Monday?' by dividing 36 by 3.",
        "Subgoal 2: Calculate the answer to 'Are 12 enough?' by multiplying the result of Subgoal 1 by 4.",
        "Subgoal 3: Add the result of Subgoal 2 and 2.",
    ]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("Ida sold 36/3 = ", "12 tarts on Monday.", "how many tarts Ida sold on Monday"),
        ("Jan earns 90/6 = $", "15 per hour.", "how much money Jan earns per hour"),
        ("So, she has 3+2=", "5 more red apples left.", "how many more red apples she has left"),
        ("That makes ", "30 boxes of tea in total, and", "how many boxes of tea in total"),
        ("", "30 children are boys.", "how many children are boys"),
        ("", "25% of the cake.", "what percentage of the cake"),
        ("He paid $", "20 dollars in tips", "how much money he paid in tips"),
        ("She needs to buy ", "6 packs.", "how many packs she needs to buy"),
        ("Ann and her brother ate ", "6 eggs.", "how many eggs Ann and her brother ate"),
        ("Ann is ", "12 years old.", "how many years old Ann is"),
        ("", "12 years old.", None),
        ("", "12 cookies left.", "how many cookies are left"),
        ("Then $", "12 on ingredients.", None),
        ("", "$12 per hour.", "how much money per hour"),
        ("The total cost $", "12.", None),
        ("The man who bought ", "12 pens.", "how many pens"),
        ("Ida sold ", "72 clips in April and May.", "how many clips Ida sold in April and May"),
        ("Ida sold ", "72 clips in April, May and June.", None),
        ("Ida sold ", "72 clips in April, so she", "how many clips Ida sold in April"),
        ("Ida sold ", "72 clips in April, and 24", "how many clips Ida sold in April"),
        ("Ida sold ", "72 clips in the big and the small and the old box.", None),
        ("Ida sold ", "72 clips in April and Bob sold none", None),
        ("Ida sold ", "72 clips to the man with", None),
        ("", "72 people with either brown, red or black hair.", None),
        ("", "72 people with either brown or black hair.", "how many people with either brown or black hair"),
        ("", "72 sq. ft.", None),
        ("In 3 days he sold ", "6 cups.", "how many cups"),
        ("There are ", "6 cups.", "how many cups"),
        ("That makes ", "6 cups.", "how many cups"),
        ("", "6", None),
        ("", "6 in May", None),
        ("", "6 Of them", None),
        ("", "6 cups for 7 guests", None),
        ("", "6 cups (big)", "how many cups"),
        ("", "6%", None),
        ("", "$6 shirts", None),
    ],
)
def test_what_a_line_calculates_comes_from_its_words(before, after, expected):
    assert describe_quantity(before, after, {Fraction(5)}) == expected


def test_a_long_formula_names_its_results_as_the_planner_knows_them():
    solution = "<<2+3=5>>\n<<5*7=35>>\n<<(35-5)*2-9/4-11-13=33.75>>"
    last = gsm8k.annotate("2, 3, 7, 9, 4, 11, 13 and 2", solution, "33.75").steps[-1]
    assert last.actions[0].raw == "R3 = Calculator((R2 - R1) * 2 - 9 / 4 - 11 - 13)"
    assert last.subgoal.text == (
        "Subgoal 3: Work out (the result of Subgoal 2 - the result of Subgoal 1) * 2 - 9 / 4 - 11 - 13."
    )


def test_words_with_numbers_of_the_question_may_be_used():
    assert describe_quantity("", "6 cups for five guests", {Fraction(5)}) == "how many cups for five guests"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("A 1.5 m. How many 2.5 m?", "the answer to 'How many 2.5 m?'"),
        ("How many?", "the answer to 'How many?'"),
        ("How many? Say it.", None),
        ("No question", None),
        ("x" * 300 + "?", None),
        ("", None),
    ],
)
def test_the_last_subgoal_repeats_the_sentence_that_asks(question, expected):
    assert equations.final_quantity(question) == expected


def test_each_operation_of_an_equation_is_a_subgoal():
    assert lines(equations.annotate("A 1, B 2, C 3. How many?", "/ + + 1 2 3 - 8 5.0", "2")) == [
        (
            "Subgoal 1: Calculate what follows from 'A 1', 'B 2' and 'C 3' by adding 1, 2 and 3.",
            ["R1 = Calculator(1 + 2 + 3)"],
            ("6",),
        ),
        ("Subgoal 2: Subtract 5 from 8.", ["R2 = Calculator(8 - 5)"], ("3",)),
        (
            "Subgoal 3: Calculate the answer to 'How many?' "
            "by dividing the result of Subgoal 1 by the result of Subgoal 2.",
            ["R3 = Calculator(R1 / R2)"],
            ("2",),
        ),
    ]


def test_decimals_stay_decimals_and_fractions_fractions():
    assert [step.results for step in equations.annotate("?", "* / 1 3 3", "1").steps] == [("1/3",), ("1",)]
    assert equations.annotate("?", "* 2.75 5.0", "13.75").steps[0].results == ("13.75",)
    assert gsm8k.annotate("?", "<<14/70=0.2>>\n<<.2*50.5=10.1>>", "10.1").steps[0].results == ("1/5",)


def test_a_formula_of_several_equations_is_linked():
    assert raws(asdiv.annotate("9 and 4, then 7", "9-4=5; 5+7=12; 9+5+12=26", "26")) == [
        "R1 = Calculator(9 - 4)",
        "R2 = Calculator(R1 + 7)",
        "R3 = Calculator(9 + R1 + R2)",
    ]


def test_units_in_parentheses_are_taken_out_of_a_formula():
    assert (
        raws(asdiv.annotate("?", "6 (penny)*1 (cent/penny) + 15 = 21 (cent)", "21"))[-1] == "R2 = Calculator(R1 + 15)"
    )


@pytest.mark.parametrize(
    ("convert", "text", "answer", "reason"),
    [
        (gsm8k.annotate, "Only prose.", "3", "no_mark"),
        (gsm8k.annotate, "<<1+2=3>>\n<<3+1=4>>", "3", "mark_not_last"),
        (gsm8k.annotate, "<<1+2=4>>", "4", "mark_wrong"),
        (gsm8k.annotate, "<<1+x=4>>", "4", "unreadable_expression"),
        (gsm8k.annotate, "<<3>>", "3", "unreadable_expression"),
        (gsm8k.annotate, "<<1/0=0>>", "0", "division_by_zero"),
        (gsm8k.annotate, "<<1+2=3>>", "5", "value_differs"),
        (gsm8k.annotate, "<<2000/3=2000/3>>", "667", "rounded"),
        (gsm8k.annotate, "<<1+2=3>>" * 201, "3", "too_large"),
        (gsm8k.annotate, "<<1+2=3>>", "three", "answer_is_text"),
        (asdiv.annotate, "7/2=3 r1", "3", "remainder"),
        (asdiv.annotate, "4+5=9 < 10", "9", "unreadable_expression"),
        (asdiv.annotate, "10/3=3.333", "3.333", "rounded"),
        (asdiv.annotate, ";", "1", "unreadable_expression"),
        (asdiv.annotate, "1+2=3", "Monday", "answer_is_text"),
        (equations.annotate, "/ 1 0", "1", "division_by_zero"),
        (equations.annotate, "/ 1", "1", "unreadable_expression"),
        (equations.annotate, "/ 1 3", "0.3333", "rounded"),
        (equations.annotate, "+ 1 3", "5", "value_differs"),
    ],
)
def test_what_cannot_be_converted_has_a_named_reason(convert, text, answer, reason):
    with pytest.raises(NotConvertible) as caught:
        convert("How many?", text, answer)
    assert str(caught.value) == caught.value.reason == reason


def test_a_reason_must_be_known():
    with pytest.raises(ValueError, match="no reason"):
        NotConvertible("because")
