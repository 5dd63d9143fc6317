"""The review of a teacher's annotation: numbers, links, unused results and wording. All rows are invented."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lumos_queue.benchmarks.from_file.teaching import TeachingRows
from lumos_queue.benchmarks.registry import open_source
from lumos_queue.notation import read_annotation
from lumos_queue.rationales.maths.annotation_review import review_annotation
from lumos_queue.records import Task

SHOP = (
    "A shop has 20 boxes. A quarter of the boxes are red and a fifth are blue. How many boxes are neither?",
    "20/4=<<20/4=5>>5 boxes are red.\n20/5=<<20/5=4>>4 boxes are blue.\n20-5-4=<<20-5-4=11>>11 boxes are neither.",
)
STAMPS = (
    "Nils sells 5 pens for $3 each. He sells 4 books for $15 each. How much does he earn?",
    "He gets 5*3=$<<5*3=15>>15 for the pens.\nThe books bring 4 books*$15=$<<4*15=60>>60.\n"
    "In total he earns 15+60=$<<15+60=75>>75.",
)
NUTS = (
    "Tom, Ann and Kim share 30 nuts, and Tom eats 4 of his. How many nuts has Tom?",
    "Tom has 30/3=<<30/3=10>>10 nuts.\nHe keeps 10-4=<<10-4=6>>6 nuts.",
)
WALK = (
    "Ida walks 3 hours, and 5 miles in each hour. Her dog is 60 months old. How many minutes does she walk?",
    "She walks 3*60=<<3*60=180>>180 minutes.",
)


def doubts(row: tuple[str, str], *lines: str) -> tuple[str, ...]:
    """The doubts about an annotation whose lines are `SUBGOAL: ACTION = RESULT`."""
    text = ""
    for number, line in enumerate(lines, start=1):
        subgoal, _, actions = line.partition(": ")
        text += f"Subgoal {number}: {subgoal}\n"
        for index, action in enumerate(actions.split("; "), start=1):
            text += f"Action {number}-{index}: {action}\n"
    steps, issues = read_annotation(text)
    assert not issues, issues
    return review_annotation(*row, None, steps).doubts


RIGHT = {
    "as the rule writes it": (
        SHOP,
        "Calculate the red boxes: R1 = Calculator(20 / 4) = 5",
        "Calculate the blue boxes: R2 = Calculator(20 / 5) = 4",
        "Calculate the other boxes: R3 = Calculator(20 - R1 - R2) = 11",
    ),
    "other names, and another order": (
        SHOP,
        "Calculate the blue boxes: R4 = Calculator(20 / 5) = 4",
        "Calculate the red boxes: R2 = Calculator(20 / 4) = 5",
        "Calculate the other boxes: R7 = Calculator(20 - R2 - R4) = 11",
    ),
    "three steps in one": (SHOP, "Subtract the red and the blue boxes: R1 = Calculator(20 - 20 / 4 - 20 / 5) = 11"),
    "people are counted": (
        NUTS,
        "Count the people who share the nuts: R1 = Count([Tom, Ann, Kim]) = 3",
        "Divide the nuts: R2 = Calculator(30 / R1) = 10",
        "Subtract what Tom eats: R3 = Calculator(R2 - 4) = 6",
    ),
    "a constant whose unit the rationale's line names": (WALK, "Multiply the hours: R1 = Calculator(3 * 60) = 180"),
    "an equation": (
        NUTS,
        "Count the people who share: R1 = Count([Tom, Ann, Kim]) = 3",
        "Set up an equation for the nuts of each: R2 = SetEquation(R1 * x = 30) = 3 * x = 30",
        "Solve it: R3 = SolveEquation(R2) = 10",
        "Subtract what Tom eats: R4 = Calculator(R3 - 4) = 6",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_annotation_has_no_doubts(name):
    row, *lines = RIGHT[name]
    assert doubts(row, *lines) == ()


WRONG = {
    "a fifth is linked to a result of 5": (
        SHOP,
        ["links: 5 is hardly R1"],
        "Calculate the red boxes: R1 = Calculator(20 / 4) = 5",
        "Calculate the blue boxes: R2 = Calculator(20 / R1) = 4",
        "Calculate the other boxes: R3 = Calculator(20 - R1 - R2) = 11",
    ),
    "a price is linked to an equal sum of money": (
        STAMPS,
        ["links: 15 may be R1"],
        "Calculate the money for the pens: R1 = Calculator(5 * 3) = 15",
        "Calculate the money for the books: R2 = Calculator(4 * R1) = 60",
        "Add them: R3 = Calculator(R1 + R2) = 75",
    ),
    "a result is written as a number": (
        STAMPS,
        ["links: 60 is R2"],
        "Calculate the money for the pens: R1 = Calculator(5 * 3) = 15",
        "Calculate the money for the books: R2 = Calculator(4 * 15) = 60",
        "Add them: R3 = Calculator(R1 + 60) = 75",
    ),
    "a number from nowhere": (
        NUTS,
        ["number: 3 is neither in the question nor a constant"],
        "Divide the nuts: R1 = Calculator(30 / 3) = 10",
        "Subtract what Tom eats: R2 = Calculator(R1 - 4) = 6",
    ),
    "a number from nowhere in another action": (
        NUTS,
        ["number: 3 is neither in the question nor a constant"],
        "Define the people: R1 = Define(3) = 3",
        "Divide the nuts: R2 = Calculator(30 / R1) = 10",
        "Subtract what Tom eats: R3 = Calculator(R2 - 4) = 6",
    ),
    "somebody who is not in the row is counted": (
        NUTS,
        ["number: Count counts zoe"],
        "Count the people who share the nuts: R1 = Count([Tom, Ann, Zoe]) = 3",
        "Divide the nuts: R2 = Calculator(30 / R1) = 10",
        "Subtract what Tom eats: R3 = Calculator(R2 - 4) = 6",
    ),
    "a result that is not used": (
        SHOP,
        ["unused: R2"],
        "Calculate the red boxes: R1 = Calculator(20 / 4) = 5",
        "Calculate the blue boxes: R2 = Calculator(20 / 5) = 4",
        "Calculate the other boxes: R3 = Calculator(20 - R1 - 20 / 5) = 11",
    ),
    "a blank": (SHOP, ["wording: Subgoal 1 has a blank"], "Calculate the ___ boxes: R1 = Calculator(20 / 4) = 5"),
    "two equal subgoals": (
        SHOP,
        ["wording: Subgoal 2 repeats Subgoal 1"],
        "Calculate the boxes: R1 = Calculator(20 / 4) = 5",
        "Calculate  the Boxes: R2 = Calculator(R1 + 20 / 5) = 9",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_annotation_has_its_doubt(name):
    row, expectation, *lines = WRONG[name]
    findings = doubts(row, *lines)
    assert [text for text in expectation if not any(text in doubt for doubt in findings)] == [], findings


def test_a_constant_of_a_unit_that_only_the_question_names_is_from_nowhere():
    question = "Ida has 3 bags for 2 hours. How many plums are in them?"
    row = (question, "There are 3*60=<<3*60=180>>180 plums.")
    assert "number: 60 is neither" in str(doubts(row, "Multiply the bags: R1 = Calculator(3 * 60) = 180"))
    assert doubts(row, "Multiply the bags by the minutes of an hour: R1 = Calculator(3 * 60) = 180") == ()


def actions(*formulas: str) -> str:
    return "Subgoal 1: Go.\n" + "\n".join(
        f"Action 1-{k}: R{k} = {text} = 9" for k, text in enumerate(formulas, start=1)
    )


HOSTILE = {
    "no action": "Subgoal 1: Think.",
    "names with zeros": "Subgoal 1: Add.\nAction 1-1: R01 = Calculator(2 + 3) = 5\n"
    "Action 1-2: R2 = Calculator(R01 + 1) = 6",
    "a variable that is not set": actions("Calculator(R9 + R1 + 1)"),
    "a division by zero": actions("Calculator(5 / (3 - 3))"),
    "values that double their digits": actions(
        "Calculator(99999)", *(f"Calculator(R{k} * R{k})" for k in range(1, 50))
    ),
    "hundreds of actions": actions(*["Calculator(4 + 5)"] * 500),
    "many equal numbers": actions(*[f"Calculator({' + '.join(['5'] * 60)})"] * 9),
    "many links": actions(*["Calculator(5)"] * 20, f"Calculator({' + '.join(['5'] * 29)})"),
    "many percentages": actions(*[f"Calculator(20{' / 100' * 60})"] * 50),
    "two results at once": "Subgoal 1: Solve.\nAction 1-1: R1, R2 = SolveEquation(x^2 = 25) = 5, -5",
    "a long number": actions(f"Calculator({'9' * 390} + 1)"),
    "a long subgoal": f"Subgoal 1: {'5 boxes and ' * 5000}\nAction 1-1: R1 = Calculator(20 / 5) = 4",
    "a count of nothing": actions("Count()"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_annotations_are_reviewed(name):
    steps, _ = read_annotation(HOSTILE[name])
    assert isinstance(review_annotation(*SHOP, None, steps).doubts, tuple)


def test_a_file_of_maths_is_reviewed_and_other_sources_are_not():
    text = "Subgoal 1: Divide.\nAction 1-1: R1 = Calculator(30 / 3) = 10"
    steps, _ = read_annotation(text)
    task = Task("gsm8k", "x", "1", NUTS[0], gold={"answer": "10", "solution": NUTS[1]})
    assert open_source("gsm8k").review_steps(task, steps).doubts
    assert not open_source("wordmath").review_steps(task, steps).doubts
    own = TeachingRows("maths")
    own.gold_answer = lambda task: "10"
    assert own.review_steps(replace(task, gold={"rationale": NUTS[1]}), steps).doubts
    assert not TeachingRows("complex_qa").review_steps(task, steps).doubts


def test_a_copy_of_a_doubtful_draft_has_the_doubt_again_until_its_words_tell_the_results_apart():
    question = "Max has 2 boxes of 6 toys and 3 bags of 4 toys. 5 toys of the boxes are lost. How many toys are left?"
    solution = "2*6=<<2*6=12>>12 toys.\n3*4=<<3*4=12>>12 toys.\n12-5=<<12-5=7>>7 toys.\n7+12=<<7+12=19>>19 toys."
    task = Task("gsm8k", "x", "1", question, gold={"answer": "19", "solution": solution})
    source = open_source("gsm8k")
    assert "links: 12 may be R1" in str(source.review(task).doubts)
    assert "links: 12 may be R1" in str(source.review_steps(task, source.gold(task).steps).doubts)
    assert not doubts(
        (question, solution),
        "Multiply for the toys in the boxes: R1 = Calculator(2 * 6) = 12",
        "Multiply for the toys in the bags: R2 = Calculator(3 * 4) = 12",
        "Subtract the lost toys from the 12 toys in the boxes: R3 = Calculator(R1 - 5) = 7",
        "Add the 12 toys in the bags: R4 = Calculator(R3 + R2) = 19",
    )
