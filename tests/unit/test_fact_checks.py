"""Answers from facts, from version 2 of the rules on: contradicted, vague and open answers. Invented facts."""

from __future__ import annotations

import pytest

from lumos_queue.rationales.questions.facts import find_answer
from lumos_queue.rationales.questions.last_step import answer_follows
from lumos_queue.rationales.reasons import NotConvertible
from tests.source_rows import STEPS, STRATEGY, folder, one

__all__ = ["folder"]  # pytest finds the fixture here

OTHER_STORES = "It runs over 600 stores in Ahrland and Belland."


@pytest.mark.parametrize(
    ("question", "facts", "answer"),
    [
        ("How many shops does Acme have?", ["Acme has 48 shops.", OTHER_STORES], "48"),
        ("How many stores does Acme have?", ["Acme has over 600 stores.", "There are 48 Acme locations."], "over 600"),
        (
            "How many seats does the Ahr Arena have?",
            ["The Ahr Arena has 900 seats.", "1,200 spectators fit in the arena."],
            "900",
        ),
        (
            "How many people live in Ahr?",
            ["Ahr has 900 people living there.", "The city of Ahr counts 1,200 residents."],
            None,
        ),
        (
            "How tall is the Ahr Tower?",
            ["The Ahr Tower is 210 feet tall.", "It rises 300 feet above the sea."],
            "210 feet",
        ),
    ],
)
def test_a_number_that_another_fact_contradicts_is_not_taken(question, facts, answer):
    if answer:
        assert find_answer(question, facts) == answer, "version 1"
    assert find_answer(question, facts, strict=True) is None


@pytest.mark.parametrize(
    ("question", "facts", "answer"),
    [
        ("How many sons did Ann have?", ["Ann had three sons.", "Bob Cal had five sons."], "three"),
        ("How many sons did Ann have?", ["Ann had three sons.", "Ann raised 3 sons in Ahr."], None),
        ("How many sons did Ann have?", ["Ann had three sons.", "Ann owned five shops."], "three"),
        ("How tall is the Ahr Tower?", ["The Ahr Tower is 210 feet tall.", "It is 40 feet wide."], "210 feet"),
        ("How tall is the Ahr Tower?", ["The Ahr Tower is 210 feet tall.", "Bel Tower rises 300 feet."], None),
        (
            "How many days are in a year?",
            ["There are 365 days in a year.", "An ahr is carried for 135 days."],
            "365 days",
        ),
        ("How many hours are in a week?", ["There are 168 hours in a week.", "Ann sang 85 hours."], "168 hours"),
        (
            "How long did the Seven Years' War last?",
            ["The Seven Years' War lasted 7 years.", "Ahrs live 40 years."],
            "7 years",
        ),
    ],
)
def test_numbers_of_other_things_do_not_contradict(question, facts, answer):
    assert find_answer(question, facts, strict=True) == find_answer(question, facts)
    if answer:
        assert find_answer(question, facts, strict=True) == answer


@pytest.mark.parametrize(
    ("question", "fact", "answer"),
    [
        (
            "Which tribes did the Ahrish people emerge from?",
            "The Ahrish people emerged from a union of two hill peoples, the Bels and Cals.",
            "a union of two hill peoples",
        ),
        (
            "In what song was ink written about?",
            "Ink was written about in a popular song of hatters.",
            "a popular song of hatters",
        ),
    ],
)
def test_an_answer_that_does_not_say_which_is_not_taken(question, fact, answer):
    assert find_answer(question, [fact]) == answer, "version 1"
    assert find_answer(question, [fact], strict=True) is None


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What kind of tree is an oakling?", "An oakling is an evergreen tree."),
        ("Which corporation owned Bel Ltd?", "Bel Ltd is owned by Cal Corporation, which sells hats."),
        ("Which animal killed Ann?", "Ann was killed by an Ahr animal."),
    ],
)
def test_answers_that_say_which_are_taken(question, fact):
    assert find_answer(question, [fact], strict=True) == find_answer(question, [fact]) is not None


def test_a_date_of_another_event_is_not_taken_roughly():
    facts = ["The first drawing of an oakling was made in 1810."]
    assert find_answer("When were Oaklings first sighted?", facts, roughly=True) == "1810"
    assert find_answer("When were Oaklings first sighted?", facts, roughly=True, strict=True) is None
    facts = ["The Ink Party was established in 1919."]
    assert find_answer("When was the Ink Party formed?", facts, roughly=True, strict=True) == "1919"


@pytest.mark.parametrize(
    ("question", "results", "answer", "expected"),
    [
        ("Is #1 greater than #2?", ["over 600", "640"], "No", False),
        ("Is #1 greater than #2?", ["over 600", "500"], "Yes", True),
        ("Is #1 less than #2?", ["over 600", "640"], "Yes", False),
        ("Is #1 greater than #2?", ["640", "more than 600"], "Yes", False),
        ("Is #1 greater than #2?", ["500", "more than 600"], "No", True),
        ("Is #1 greater than #2?", ["fewer than 7", "5"], "Yes", False),
        ("Is #1 greater than #2?", ["fewer than 7", "9"], "No", True),
        ("Is #1 greater than #2?", ["up to 10 metres", "over 10 metres"], "No", True),
        ("Is #1 equal to #2?", ["over 10", "10"], "Yes", False),
        ("Is #1 greater than #2?", ["about 9", "12"], "No", True),
    ],
)
def test_bounds_are_compared_only_where_every_number_gives_the_same_answer(question, results, answer, expected):
    assert bool(answer_follows(question, results, answer, strict=True)) == expected


EVIDENCE = [[["Ann-3"]], [["Bob-1"]], [["Poets-2"], "operation"]]


def test_a_step_with_evidence_and_operation_keeps_its_paragraphs(folder):
    source, task = one(folder, "strategyqa", evidence=[EVIDENCE])
    actions = [[action.name for action in step.actions] for step in source.gold(task).steps]
    assert actions == [["KnowledgeQuery", "ParagraphRetrieve", "QA"]] * 3
    last = source.gold(task).steps[-1]
    assert last.results == ("WikipediaPage(Poets)", "Paragraph(Poets-2)", "No")
    assert "(Can be answered based on paragraph 'Poets-2')" in source.rationale(task)


def test_version_1_of_strategyqas_rules_stays(folder):
    source, task = one(folder, "strategyqa", evidence=[EVIDENCE])
    assert [action.name for action in source.at_rules(1).gold(task).steps[-1].actions] == ["QA"]
    facts = ["Ann opened 48 shops.", "Bob opened 9 shops.", "Ann closed over 60 stores."]
    steps = ["How many shops did Ann open?", "How many shops did Bob open?", "Is #1 greater than #2?"]
    source, task = one(folder, "strategyqa", facts=facts, decomposition=steps, answer=True)
    assert source.at_rules(1).gold(task).steps[0].results[-1] == "48"
    with pytest.raises(NotConvertible, match="unclear_fact"):
        source.gold(task)


def test_a_result_has_no_second_article(folder):
    steps = ["What kind of animal is Ann?", "Does a #1 eat hay?"]
    row = {"decomposition": steps, "facts": ["Ann is a grey goat."], "evidence": [[[["Ann-1"]], ["operation"]]]}
    source, task = one(folder, "strategyqa", **row, question="Does Ann eat hay?", answer=True)
    texts = [version.gold(task).steps[-1].subgoal.text for version in (source.at_rules(1), source)]
    assert texts == [
        "Subgoal 2: Answer the question: Does a the result of Subgoal 1 eat hay?",
        "Subgoal 2: Answer the question: Does the result of Subgoal 1 eat hay?",
    ]
    assert STRATEGY["decomposition"] == STEPS
