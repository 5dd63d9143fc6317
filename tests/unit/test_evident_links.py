"""Links between equal values are decided by evidence, and a row waits if there is none. All rows are invented."""

from __future__ import annotations

import pytest

from lumos_queue.benchmarks.gsm8k.benchmark import GSM8K
from lumos_queue.benchmarks.gsm8k.rationale import convert, convert_by_evidence
from lumos_queue.rationales.maths.link_evidence import _find_percentages
from lumos_queue.rationales.maths.mentions import find_mentions, find_stem
from lumos_queue.records import Task


def formulas(question: str, solution: str, answer: str) -> list[str]:
    """The arguments of the actions, by the present rules; the row must not wait."""
    annotation, reading = convert_by_evidence(question, solution, answer)
    assert reading.doubts == ()
    return [action.arguments for step in annotation.steps for action in step.actions]


def doubts(question: str, solution: str, answer: str) -> tuple[str, ...]:
    return convert_by_evidence(question, solution, answer)[1].doubts


#: Question, solution, answer, and the arguments of the right actions.
DECIDED = {
    "a third of what is left, after a result of 3": (
        "Mia has 9 kilograms of flour. She bakes 6 kilograms of it. Her brother has 12 kilograms of flour and gives "
        "her 1/3 of it. How many kilograms of flour does Mia have now?",
        "Mia has 9-6=<<9-6=3>>3 kilograms of flour left.\nHer brother gives her 1/3*12=<<1/3*12=4>>4 kilograms.\n"
        "Now she has 3+4=<<3+4=7>>7 kilograms of flour.",
        "7",
        ["9 - 6", "1 / 3 * 12", "R1 + R2"],
    ),
    "a price, after an equal sum of money": (
        "Nils sells 5 pens for $3 each. He sells 4 books for $15 each. How much does he earn?",
        "He gets 5*3=$<<5*3=15>>15 for the pens.\nThe books bring 4 books*$15=$<<4*15=60>>60.\n"
        "In total he earns 15+60=$<<15+60=75>>75.",
        "75",
        ["5 * 3", "4 * 15", "R1 + R2"],
    ),
    "tables and chairs of one number": (
        "A hall has 32 tables. 16 of the tables have 2 chairs each, and the other tables have 3 chairs each. How many "
        "chairs are in the hall?",
        "16 tables have 16*2=<<16*2=32>>32 chairs.\nThere are 32-16=<<32-16=16>>16 other tables.\n"
        "They have 16*3=<<16*3=48>>48 chairs.\nThe hall has 32+48=<<32+48=80>>80 chairs.",
        "80",
        ["16 * 2", "32 - 16", "R2 * 3", "R1 + R3"],
    ),
    "a fifth, after a result of 5": (
        "A shop has 20 boxes. A quarter of the boxes are red and a fifth are blue. How many boxes are neither?",
        "20/4=<<20/4=5>>5 boxes are red.\n20/5=<<20/5=4>>4 boxes are blue.\n20-5-4=<<20-5-4=11>>11 boxes are neither.",
        "11",
        ["20 / 4", "20 / 5", "20 - R1 - R2"],
    ),
    "two equal results in a sum": (
        "Ola buys 4 caps for $6 each and 3 bags for $8 each. How much does she pay?",
        "The caps cost 4*6=$<<4*6=24>>24.\nThe bags cost 3*8=$<<3*8=24>>24.\nShe pays 24+24=$<<24+24=48>>48.",
        "48",
        ["4 * 6", "3 * 8", "R1 + R2"],
    ),
    "a percentage is not a number of things": (
        "Lea has 25 stamps. She gives away 20% of them and then buys 20% more than she has left. How many stamps does "
        "she have?",
        "She gives away 25*.2=<<25*.2=5>>5 stamps.\nShe has 25-5=<<25-5=20>>20 stamps left.\n"
        "She buys 20*.2=<<20*.2=4>>4 stamps.\nShe has 20+4=<<20+4=24>>24 stamps.",
        "24",
        ["25 * 0.2", "25 - R1", "R2 * 0.2", "R2 + R3"],
    ),
    "a unit in the formula, and a result without a unit": (
        "Mia has 3 red and 3 green pears. Each of 6 children gives her 4 plums. How many fruits does she have?",
        "Together 3+3=<<3+3=6>>6.\nThen 6 children*4=<<6*4=24>>24.\nThat is 6+24=<<6+24=30>>30.",
        "30",
        ["3 + 3", "6 * 4", "R1 + R2"],
    ),
    "a result is not divided by itself": (
        "Half of 8 kilograms of sand is shared by 4 boys. How many kilograms does each boy get?",
        "8/2=<<8/2=4>>4 kilograms are shared.\nEach boy gets 4 kilograms/4=<<4/4=1>>1.",
        "1",
        ["8 / 2", "R1 / 4"],
    ),
    "a fraction of the question, after results with its numbers": (
        "Una had 5 cups and 9 mugs. She broke 2 cups and 5 mugs, and then 3/4 of her 12 plates. How many things are "
        "there if she keeps the broken plates?",
        "She has 5-2=<<5-2=3>>3 cups.\nShe has 9-5=<<9-5=4>>4 mugs.\nShe broke 12*3/4=<<12*3/4=9>>9 plates.\n"
        "There are 3+4+9=<<3+4+9=16>>16 things.",
        "16",
        ["5 - 2", "9 - 5", "12 * 3 / 4", "R1 + R2 + R3"],
    ),
    "a result that only states a number of the question": (
        "Ben asks 13 questions in the first hour and twice as many in the second. How many questions are that?",
        "First hour: <<13=13>>13\nSecond hour: 13*2=<<13*2=26>>26\nTotal: 13+26=<<13+26=39>>39",
        "39",
        ["13", "R1 * 2", "R1 + R2"],
    ),
    "dozens are the result of their calculation": (
        "Lia has 5 dozen eggs. An egg costs $2 in May and $3 in June. How much more do her eggs cost in June?",
        "She has 5*12=<<5*12=60>>60 eggs.\nIn May they cost 60*2=$<<60*2=120>>120.\n"
        "In June they cost 60*3=$<<60*3=180>>180.\nThat is 180-120=$<<180-120=60>>60 more.",
        "60",
        ["5 * 12", "R1 * 2", "R1 * 3", "R3 - R2"],
    ),
    "the hundredth of a percentage that is a result": (
        "A club has 50 members. 40% of the members are boys. How many members are girls?",
        "100-40=<<100-40=60>>60% of the members are girls.\nThere are 50*.6=<<50*.6=30>>30 girls.",
        "30",
        ["100 - 40", "50 * R1 * 0.01"],
    ),
}


@pytest.mark.parametrize("case", DECIDED)
def test_evidence_decides_the_link(case):
    question, solution, answer, target = DECIDED[case]
    actual = [formula.replace("(", "").replace(")", "") for formula in formulas(question, solution, answer)]
    assert actual == target


def test_the_evidence_is_recorded():
    question, solution, answer, _ = DECIDED["a price, after an equal sum of money"]
    evidence = convert_by_evidence(question, solution, answer)[1].evidence
    assert any("15 is R1" in text and "$" in text for text in evidence), evidence


#: Rows without evidence: the beginning of the only doubt.
WAITING = {
    "neither words nor units": (
        "Ina has 4 red and 4 green beads in each of 8 bags. How many?",
        "4+4=<<4+4=8>>8\n8*8=<<8*8=64>>64\n64-8=<<64-8=56>>56",
        "56",
        "links: 8 may be",
    ),
    "a result subtracted from itself": (
        "Ivo has one hour. He reads 30 pages, each in 2 minutes. How many minutes are left?",
        "He needs 30*2=<<30*2=60>>60 minutes.\n60-60=<<60-60=0>>0 minutes are left.",
        "0",
        "links: no reading",
    ),
    "a number from nowhere": (
        "Tom, Ann and Kim pay 30 dollars in equal parts. How much does Tom pay?",
        "Tom pays 30/3=$<<30/3=10>>10.",
        "10",
        "number: 3 is neither",
    ),
    "an unused result": (
        "Eva has 8 cats and 3 dogs. Each cat eats 2 fish. How many fish do the cats eat?",
        "She has 8+3=<<8+3=11>>11 animals.\nThe cats eat 8*2=<<8*2=16>>16 fish.",
        "16",
        "unused: R1",
    ),
    "a number that no marked line gives": (
        "A farm has 78 hens. 30 hens are brown, 20 are white, 9 are grey, and the rest are black. How many are black?",
        "The brown, white and grey hens are 59 hens.\nThe farm has 78-59=<<78-59=19>>19 black hens.",
        "19",
        "number: 59 is neither",
    ),
}


@pytest.mark.parametrize("case", WAITING)
def test_a_row_without_evidence_waits(case):
    question, solution, answer, beginning = WAITING[case]
    assert [text[: len(beginning)] for text in doubts(question, solution, answer)] == [beginning]


def test_a_plain_calculation_without_a_mark_becomes_a_step():
    question = "Sam walks for 30 minutes to school and 30 minutes home. He does this on 5 days. How many minutes?"
    solution = "A day has 30 + 30 = 60 minutes of walking.\nHe walks 60*5=<<60*5=300>>300 minutes."
    assert formulas(question, solution, "300") == ["30 + 30", "R1 * 5"]


def test_a_plain_calculation_with_the_result_of_another_formula_becomes_a_step():
    question = "Kai buys 2 mugs for $9 each and 3 plates for $6 each. How much does he pay?"
    solution = "The mugs cost 2*9=$<<2*9=18>>18.\nThe plates cost 3*6=$18.\nHe pays 18+18=$<<18+18=36>>36."
    assert formulas(question, solution, "36") == ["2 * 9", "3 * 6", "R1 + R2"]


@pytest.mark.parametrize(
    ("line", "waits"),
    [("He jogs 4*7=<<4*7=28>>28 km.", True), ("A week has 7 days, so he jogs 4*7=<<4*7=28>>28 km.", False)],
)
def test_a_constant_counts_only_if_the_line_names_its_unit(line, waits):
    question = "Ben jogs 4 km every day. How far does he jog in a week?"
    assert bool(doubts(question, line, "28")) == waits


@pytest.mark.parametrize("text", ["half", "twice"])
def test_a_word_that_is_no_unit_may_be_in_the_question(text):
    question = f"Ann has 8 pens. Bo has {text} as many. How many pens does Bo have?"
    sign, answer = ("/", "4") if text == "half" else ("*", "16")
    assert doubts(question, f"Bo has 8{sign}2=<<8{sign}2={answer}>>{answer} pens.", answer) == ()


@pytest.mark.parametrize(
    ("share", "formula", "waits"),
    [
        ("1/3 of it", "12*2/3", True),
        ("a third of it", "12*2/3", True),
        ("two thirds of it", "12*2/3", False),
        ("1/4 of it", "12*.75", True),
        ("25% of it", "12*.75", False),
        ("25% more", "12*1.25", False),
        ("2/3 of it", "12*2/3", False),
    ],
)
def test_the_rest_of_a_fraction_needs_its_own_step(share, formula, waits):
    value = {"12*2/3": 8, "12*.75": 9, "12*1.25": 15}[formula]
    question = f"Ida has 12 metres of rope. Ole has {share}. How long is the rope at the end?"
    assert bool(doubts(question, f"It has {formula}=<<{formula}={value}>>{value} metres.", str(value))) == waits


def test_money_is_not_multiplied_by_money():
    question = "Una sells 6 vases for $3 each and 18 cups for $2 each. How much does she earn?"
    solution = (
        "She earns 6*$3=$<<6*3=18>>18 for the vases.\nShe earns 18*$2=$<<18*2=36>>36 for the cups.\n"
        "She earns $18+$36=$<<18+36=54>>54."
    )
    assert formulas(question, solution, "54") == ["6 * 3", "18 * 2", "R1 + R2"]


def test_version_1_of_the_rules_is_as_it_was():
    question, solution, answer, target = DECIDED["a fifth, after a result of 5"]
    source, task = GSM8K(), Task("gsm8k", "", "1", question, gold={"answer": answer, "solution": solution})
    old = source.at_rules(1)
    assert old.gold(task) == convert(question, solution, answer)[0]
    assert [action.arguments for step in old.gold(task).steps for action in step.actions][1] == "20 / R1"
    assert old.review(task).doubts == () and old.count_ambiguous(task) == 3
    assert [action.arguments for step in source.gold(task).steps for action in step.actions] == target


def test_units_are_the_words_beside_a_number():
    text = "She pays $15 to mow a lawn, 20% of 40 big boxes and twelve-mile trips, 5 of her boxes."
    units = [(mention.value, set(mention.unit)) for mention in find_mentions(text)]
    target = [(15, {"$"}), (20, {"%"}), (40, {"big", "box"}), (12, {"mil", "trip"})]
    assert [unit for unit in units if unit[0] in (15, 20, 40, 12)] == target


def test_forms_of_a_word_have_one_stem():
    for forms in (("mow", "mows", "mowing", "mowed"), ("berry", "berries"), ("box", "boxes"), ("hour", "hours")):
        assert len({find_stem(form) for form in forms}) == 1


def test_many_readings_make_the_row_wait():
    question = "A has 2, B has 2, C has 2. How much?"
    lines = [f"2*1=<<2*1=2>>2 of {letter}" for letter in "abcdefgh"] + ["2+2+2+2+2+2+2+2=<<2+2+2+2+2+2+2+2=16>>16"]
    assert "links: too many readings" in doubts(question + " 1", "\n".join(lines), "16")


def test_percentages_of_a_text_are_read_once_for_all_operands():
    question, line = "3% of " * 100, "It is 3*.01*3*.01=<<3*.01*3*.01=.0009>>.0009."
    misses = _find_percentages.cache_info().misses
    assert doubts(question, line, ".0009") is not None
    assert 0 < _find_percentages.cache_info().misses - misses <= 2
