"""Which numbers a solution may use: given by the question, named by words, found before; and steps that copy others."""

from __future__ import annotations

import asyncio
import contextlib
from fractions import Fraction

import pytest

from lumos_queue.benchmarks.gsm8k import rationale
from lumos_queue.benchmarks.registry import open_source
from lumos_queue.conversion.form import form_verdicts
from lumos_queue.conversion.lengths import estimate_tokens
from lumos_queue.conversion.perturbation import perturbation
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.notation import read_annotation
from lumos_queue.rationales.maths import equations
from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.doubtful_links import ambiguous_operands
from lumos_queue.rationales.maths.expressions import format_expression, parse_prefix
from lumos_queue.rationales.maths.question_numbers import question_numbers
from lumos_queue.rationales.maths.readings import readings
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Task
from tests.cpu_limit import cpu_limit


def raws(annotation):
    return [action.raw for step in annotation.steps for action in step.actions]


def task(question: str, solution: str, answer: str) -> Task:
    return Task("gsm8k", "d", "1", question, gold={"solution": solution, "answer": answer})


def passes(question: str, solution: str, answer: str) -> bool:
    """Whether the annotation by rule holds with other numbers."""
    source, row = open_source("gsm8k"), task(question, solution, answer)

    async def run():
        interface = DOMAINS.load("maths").open_actions()
        try:
            return (await perturbation(source, row, source.gold(row), interface)).passed
        finally:
            await interface.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("line", "formula"),
    [
        ("She has 4 - 2 = <<2=2>>2 left.", "4 - 2"),
        ("She has 4-2=2 left.", "4 - 2"),
        ("4 jars minus 2 jars equals <<2=2>>2.", "4 - 2"),
        ("She keeps $4/jar - $2 per jar = $2.", "4 - 2"),
        ("Half is 4(1/2) = 2.", "4 * (1 / 2)"),
        ("50% of 4 = 2 are gone.", "50 / 100 * 4"),
    ],
)
def test_a_calculation_in_prose_is_found_where_a_later_one_needs_it(line, formula):
    solution = f"{line}\nThe rest costs 2*9=<<2*9=18>>18."
    assert raws(rationale.annotate("Ida has 4 jars for $9 each. 50% break.", solution, "18")) == [
        f"R1 = Calculator({formula})",
        "R2 = Calculator(R1 * 9)",
    ]


def test_a_calculation_in_prose_counts_also_where_the_question_has_its_result():
    solution = "She ate 1+1=2 cups.\nIn total 2+3=<<2+3=5>>5 cups."
    annotation = rationale.annotate("1 cup at noon, 1 at night, then 3, of 2 bags", solution, "5")
    assert raws(annotation) == ["R1 = Calculator(1 + 1)", "R2 = Calculator(R1 + 3)"]


def test_an_equation_in_prose_that_ends_a_solution_gives_the_answer():
    annotation = rationale.annotate("4 and 9 and 3", "4+9=<<4+9=13>>13\nSo 13 - 3 = 10 are left.", "10")
    assert raws(annotation) == ["R1 = Calculator(4 + 9)", "R2 = Calculator(R1 - 3)"]


@pytest.mark.parametrize("prose", ["4 - 2 = 3 are left", "x + 2 = 10", "2y + 8y = 10y", "10 are left"])
def test_prose_that_does_not_check_calculates_nothing(prose):
    with pytest.raises(NotConvertible, match="value_differs"):
        rationale.annotate("4 and 9", f"4+9=<<4+9=13>>13\n{prose}", "10")


@pytest.mark.parametrize(
    ("question", "solution", "answer"),
    [
        ("Pia had 4 cans and 2 of them are gone.", "She drank some.\nThat leaves <<6=6>>6.", "6"),
        ("Pia had 9 cans. Tom has 5 more than twice that.", "2x+5=9\nx=<<2=2>>2\n2+9=<<2+9=11>>11", "11"),
        ("Pia had 8 cans. Twice of Tom's and 8 more make 24.", "2x+8=24\n2x=16\nx=<<8=8>>8", "8"),
        ("Pia had 8 cans, then 3 more.", "The first cans + 3 = <<8=8>>8\n8+3=<<8+3=11>>11", "11"),
    ],
)
def test_a_number_that_is_only_stated_is_copied(question, solution, answer):
    with pytest.raises(NotConvertible, match="copied"):
        rationale.annotate(question, solution, answer)


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("She has forty-five.", "45"),
        ("She has .25 of it.", "0.25"),
        ("She has a dozen.", "12"),
        ("She has two dozen.", "24"),
        ("She has one hundred one.", "101"),
        ("She has half a jar.", "0.5"),
        ("She has 25% of it.", "0.25"),
        ("She has 3/4 of it.", "0.75"),
        ("She pays 30 cents.", "0.30"),
        ("She counts hours and minutes.", "60"),
    ],
)
@pytest.mark.parametrize("action", ["Calculator", "Define"])
def test_numbers_that_the_question_gives_may_be_stated(question, number, action):
    found = [verdict.name for verdict in judge(question, number, action)]
    assert found == []
    assert [verdict.name for verdict in judge("She has 7.", number, action)] == ["copied", "copied"]


def judge(question: str, number: str, action: str):
    steps, issues = read_annotation(
        f"Subgoal 1: Find it.\nAction 1-1: R1 = {action}({number}) = {number}\n\n"
        f"Subgoal 2: Double it.\nAction 2-1: R2 = Calculator(R1 + R1) = 0\n"
    )
    assert not issues
    return list(form_verdicts(open_source("gsm8k"), task(question, "", "0"), steps, 4000, estimate_tokens))


def test_an_equation_that_only_states_a_number_is_copied_too():
    text = "Subgoal 1: Find it.\nAction 1-1: R1 = SetEquation(x = 13) = x = 13\n"
    steps, _ = read_annotation(text + "Action 1-2: R2 = SolveEquation(R1) = 13\n")
    names = {
        one.name for one in form_verdicts(open_source("gsm8k"), task("5 and 8", "", "13"), steps, 4000, estimate_tokens)
    }
    assert names == {"copied"}


def test_an_annotation_holds_with_other_numbers_only_where_its_literals_are_known():
    question = "A box has 4 pens and 6 boxes cost $30."
    assert passes(question, "4*6=<<4*6=24>>24\n24*30=<<24*30=720>>720", "720")
    assert not passes("A box of 500 pens is 20% empty.", "500/5=<<500/5=100>>100", "100")
    assert passes("A box of 500 pens is one fifth empty.", "500*1/5=<<500*1/5=100>>100", "100")
    assert not passes(question, "Counting gives 20.\n20*30=<<20*30=600>>600", "600")
    assert not passes(question, "4*6=<<4*6=24>>24\n24*60=<<24*60=1440>>1440", "1440")
    assert passes(question, "4*6=<<4*6=24>>24 hours\n24*60=<<24*60=1440>>1440 minutes", "1440")


def finding(row: Task, text: str):
    steps, _ = read_annotation(text)

    async def run():
        interface = DOMAINS.load("maths").open_actions()
        try:
            return await perturbation(open_source("gsm8k"), row, steps[0].actions, interface)
        finally:
            await interface.close()

    return asyncio.run(run())


def test_a_source_that_states_what_it_should_calculate_says_nothing():
    """An annotation that calculates it is right, and must not be told to differ."""
    row = task("5 jars of 6 for $2 each", "5 of 6 are 30.\n30*2=<<30*2=60>>60", "60")
    found = finding(row, "Subgoal 1: A.\nAction 1-1: R1 = Calculator(5 * 6 * 2) = 60\n")
    assert (found.passed, found.differs) == (False, "")


def test_an_unknown_literal_of_the_annotation_itself_is_not_passed():
    row = task("5 jars for $3 each", "5*3=<<5*3=15>>15", "15")
    assert finding(row, "Subgoal 1: A.\nAction 1-1: R1 = Calculator(5 * 3) = 15\n").passed
    found = finding(row, "Subgoal 1: A.\nAction 1-1: R1 = Calculator(5 * 3 * 17 / 17) = 15\n")
    assert (found.passed, found.differs) == (False, "")


def formulas(question, solution):
    return {tuple(action.arguments for action in program) for program in readings(question, solution)}


def test_a_unit_constant_is_one_of_the_readings():
    solution = "She runs 5*12=<<5*12=60>>60 km.\n60*60=<<60*60=3600>>3600 metres a minute"
    assert {"R1 * R1", "R1 * 60", "60 * R1"} == {program[1] for program in formulas("5 km, 12 times", solution)}
    annotation = rationale.annotate("5 km, 12 times", solution, "3600")
    assert raws(annotation)[1] == "R2 = Calculator(R1 * 60)"
    assert ambiguous_operands(annotation.steps, "5 km, 12 times", "a minute") != []
    without = solution.replace(" a minute", "")
    assert {program[1] for program in formulas("5 km, 12 times", without)} == {"R1 * R1"}


def test_the_denominator_of_a_fraction_is_one_of_the_readings():
    question, solution = "9 cups, 3 fewer, half", "9-6=<<9-6=3>>3\n12*1/3=<<12*1/3=4>>4\n4+3=<<4+3=7>>7"
    assert {program[1] for program in formulas("9, 6 and 12", solution)} == {"12 * 1 / R1", "12 * 1 / 3"}
    steps, _ = read_annotation(
        "Subgoal 1: A.\nAction 1-1: R1 = Calculator(9 - 6) = 3\nAction 1-2: R2 = Calculator(12 * 1 / R1) = 4\n"
    )
    assert ambiguous_operands(steps, question.replace("3 fewer", "6 fewer")) == ["R1"]


def test_a_constant_multiplies_and_is_not_added():
    solution = "30*2=<<30*2=60>>60 minutes\n60+60=<<60+60=120>>120 minutes"
    assert raws(rationale.annotate("30 minutes, doubled on 2 days", solution, "120"))[1] == "R2 = Calculator(R1 + R1)"


@pytest.mark.parametrize(
    ("text", "constants", "others"),
    [
        ("a week", {7}, {60, 12}),
        ("how many hours", {60, 24}, {7}),
        ("each month of the year", {12, 30}, {60}),
        ("weeks of a month", {4, 7}, {52}),
        ("20% of it", {100, Fraction(1, 100), 1}, {2}),
        ("half of it", {2, Fraction(1, 2)}, {3}),
        ("two thirds", {3, Fraction(2, 3)}, {5}),
        ("seeks monthsy", set(), {7, 12}),
    ],
)
def test_a_constant_is_tied_to_a_word(text, constants, others):
    assert constants <= find_constants(text)
    assert not others & find_constants(text)


def test_what_follows_from_a_number_changes_with_it():
    found = question_numbers("25% of 3 dozen at 40 cents, 2/5 left, half a cup")
    assert set(found.free) == {25, 3, 40, 2, 5}
    changes = found.extend({Fraction(25): Fraction(10), Fraction(3): Fraction(6), Fraction(5): Fraction(8)})
    assert changes[Fraction(1, 4)] == Fraction(1, 10) and changes[Fraction(3, 4)] == Fraction(9, 10)
    assert changes[Fraction(36)] == 72 and changes[Fraction(75)] == 90
    assert changes[Fraction(2, 5)] == Fraction(2, 8)
    assert Fraction(1, 2) in found.numbers and Fraction(1, 2) not in found.free


def test_negative_numbers_in_prefix_form():
    assert format_expression(parse_prefix("- -5 3")) == "-5 - 3"
    assert format_expression(parse_prefix("* -5 - 3 -2")) == "-5 * (3 - (-2))"
    assert [step.results for step in equations.annotate("-5 and 3?", "+ -5 3", "-2").steps] == [("-2",)]


def test_the_noise_of_a_float_is_no_rounding():
    assert equations.annotate("?", "/ 2.5 3", "0.8333333333333334").steps[0].results == ("5/6",)
    with pytest.raises(NotConvertible, match="rounded"):
        equations.annotate("?", "/ 2.5 3", "0.8333")


@pytest.mark.parametrize(
    "piece",
    ["5 boxes ", "5 x ", "$5-", "5 - ", "(5", "5)", "5 of ", "5 a-b's ", "5/a ", "5 % ", "word ", "aaaa", "5 (a) * "],
)
def test_no_line_takes_for_ever(piece):
    with cpu_limit(10):
        for end in ("", "!", " = ", "= <<3=3>>"):
            with contextlib.suppress(NotConvertible):
                rationale.annotate("1 and 2", f"{piece * (1000 // len(piece))}{end}\n<<1+2=3>>", "3")


@pytest.mark.parametrize(
    "piece", ["1+1=2 ", "a dozen ", "1/2 ", "3% ", "half an ", "5 = 5 ", "((", "4 ", "x*0.25=", "2 of "]
)
def test_a_quarter_of_a_megabyte_takes_a_second(piece):
    text = piece * (250_000 // len(piece))
    for question, solution in ((text, "<<1+2=3>>"), ("1 and 2", text), ("1 and 2", text.replace(" ", "\n"))):
        with cpu_limit(20), contextlib.suppress(NotConvertible):
            rationale.annotate(question, solution, "3")
