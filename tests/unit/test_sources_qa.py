"""Questions over pages by rule: StrategyQA, MuSiQue and HotpotQA, row by row."""

from __future__ import annotations

import pytest

from lumos_queue.notation import write_annotation
from lumos_queue.rationales.questions.relations import relation_question
from tests.source_rows import HOTPOT, MUSIQUE, STEPS, STRATEGY, find_refusal, folder, one, read

__all__ = ["folder"]  # pytest finds the fixture here


def test_strategyqa_takes_the_first_annotator_with_evidence_and_the_words_of_the_facts_that_answer(folder):
    source, task = one(folder, "strategyqa")
    assert source.rationale(task) == (
        "We find relevant facts: Bob was born in 1900. Ann died in 1880. We need to answer these questions: 1. When "
        "did Ann die? (Can be answered based on paragraph 'Ann (poet)-3', 'Ann (poet)-4') 2. When was Bob born? (Can "
        "be answered based on paragraph 'Bob-1') 3. Is #2 before #1? Based on these evidences and decomposed "
        "questions, the answer is False."
    )
    assert write_annotation(source.gold(task).steps).split("\n") == [
        "Subgoal 1: Answer the question: When did Ann die?",
        "Action 1-1: R1 = KnowledgeQuery(Ann) = WikipediaPage(Ann (poet))",
        "Action 1-2: R2 = ParagraphRetrieve(R1, Query: When did Ann die?)"
        " = Paragraph(Ann (poet)-3), Paragraph(Ann (poet)-4)",
        "Action 1-3: R3 = QA([R2], Question: When did Ann die?) = 1880",
        "",
        "Subgoal 2: Answer the question: When was Bob born?",
        "Action 2-1: R4 = KnowledgeQuery(Bob) = WikipediaPage(Bob)",
        "Action 2-2: R5 = ParagraphRetrieve(R4, Query: When was Bob born?) = Paragraph(Bob-1)",
        "Action 2-3: R6 = QA([R5], Question: When was Bob born?) = 1900",
        "",
        "Subgoal 3: Answer the question: Is the result of Subgoal 2 before the result of Subgoal 1?",
        "Action 3-1: R7 = QA([R6, R3], Question: Is R6 before R3?) = No",
    ]
    assert [source.is_right(task, answer) for answer in ("no.", "False", "Yes", "True", "", None)] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_strategyqa_says_why_not(folder):
    source, task = one(folder, "strategyqa", evidence=[STRATEGY["evidence"][0]])
    assert find_refusal(source.rationale, task) == find_refusal(source.gold, task) == "no_evidence"
    source, task = one(folder, "strategyqa", facts=["Ann died in 1880."])
    assert source.rationale(task) and find_refusal(source.gold, task) == "unclear_fact"
    robot = ["Ann died in 1880.", "R2 was born in 1900."]
    source, task = one(folder, "strategyqa", facts=robot, decomposition=[STEPS[0], "When was R2 born?", STEPS[2]])
    assert find_refusal(source.gold, task) == "unwritable"
    source, task = one(folder, "strategyqa", decomposition=[STEPS[0], "When was #3?", STEPS[2]])
    assert find_refusal(source.gold, task) == "no_step_answer"
    source, task = one(folder, "strategyqa", decomposition=["When did #2 die?", STEPS[1], STEPS[2]])
    assert find_refusal(source.gold, task) == "undefined_step"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"answer": True}, "unclear_fact"),  # 1900 is not before 1880
        ({"facts": ["Bob was born in 1900.", "Ann died in 1880.", "Ann died in 1870."]}, "unclear_fact"),
        ({"facts": ["Bob was born in 1900.", "Ann died after a long illness."]}, "unclear_fact"),
        ({"decomposition": [STEPS[0], STEPS[1], "Could Bob have met somebody?"]}, "no_step_answer"),  # of no result
        ({"decomposition": [STEPS[0], STEPS[1], "How long is it from #1 to #2?"]}, "no_step_answer"),  # no yes or no
        ({"evidence": [[[["Ann-3"]], ["operation"], ["operation"]]]}, "no_step_answer"),
        (
            {"question": "Was Ann unable to meet Bob?", "decomposition": [*STEPS[:2], "Did #1 and #2 meet?"]},
            "unclear_fact",
        ),
    ],
)
def test_strategyqa_waits_for_a_teacher_where_a_result_is_not_clear(folder, changes, reason):
    source, task = one(folder, "strategyqa", **changes)
    assert find_refusal(source.gold, task) == reason and source.rationale(task)


def test_strategyqa_takes_a_date_that_is_told_roughly_where_the_last_step_checks_it(folder):
    rough = ["When did the poet Ann die?", STEPS[1], STEPS[2]]
    source, task = one(folder, "strategyqa", decomposition=rough)
    assert [step.results[-1] for step in source.gold(task).steps] == ["1880", "1900", "No"]
    source, task = one(folder, "strategyqa", decomposition=[*rough[:2], "Did #1 and #2 meet?"])
    assert find_refusal(source.gold, task) == "unclear_fact"


def test_musique_names_pages_by_earlier_answers_and_keeps_paragraph_0(folder):
    source, task = one(folder, "musique")
    assert source.rationale(task) == (
        "We find relevant facts:  Acme was founded by Ann Berg. Ann Berg was born in Oslo. We need to answer these "
        "questions: 1. Acme >> founded by (Can be answered based on paragraph 'Acme') 2. The town in which #1 was "
        "born? (Can be answered based on paragraph 'Ann Berg') Based on these evidences and decomposed questions, the "
        "answer is Oslo."
    )
    assert write_annotation(source.gold(task).steps).split("\n") == [
        "Subgoal 1: Answer the question: What is Acme founded by?",
        "Action 1-1: R1 = KnowledgeQuery(Acme) = WikipediaPage(Acme)",
        "Action 1-2: R2 = ParagraphRetrieve(R1, Query: What is Acme founded by?) = Paragraph(Acme-0)",
        "Action 1-3: R3 = QA([R2], Question: What is Acme founded by?) = Ann Berg",
        "",
        "Subgoal 2: Answer the question: The town in which the result of Subgoal 1 was born?",
        "Action 2-1: R4 = KnowledgeQuery(R3) = WikipediaPage(Ann Berg)",
        "Action 2-2: R5 = ParagraphRetrieve(R4, Query: The town in which R3 was born?) = Paragraph(Ann Berg-1)",
        "Action 2-3: R6 = QA([R5, R3], Question: The town in which R3 was born?) = Oslo",
    ]
    assert (
        source.is_right(task, "kristiania.") and source.is_right(task, "Oslo") and not source.is_right(task, "Bergen")
    )
    assert "born in Oslo" in source.facts(task)


def test_musique_without_support_or_answer(folder):
    without = [{**hop, "paragraph_support_idx": None} for hop in MUSIQUE["question_decomposition"]]
    source, task = one(folder, "musique", question_decomposition=without, answerable=False)
    assert find_refusal(source.rationale, task) == find_refusal(source.gold, task) == "unanswerable"
    source, task = one(folder, "musique", question_decomposition=without)
    assert find_refusal(source.rationale, task) == "no_support" and source.facts(task) == ""
    source, task = one(folder, "musique", answer="Bergen")
    assert find_refusal(source.gold, task) == "value_differs"
    first, second = MUSIQUE["question_decomposition"]
    for words in ("town of #1", "#1 who wants to be a baker cast"):  # to search for: no questions
        source, task = one(folder, "musique", question_decomposition=[first, {**second, "question": words}])
        assert find_refusal(source.gold, task) == "unnamed_step" and source.rationale(task)


def test_no_query_names_a_page_that_the_question_does_not(folder):
    first, second = MUSIQUE["question_decomposition"]
    hops = [{**first, "paragraph_support_idx": 1}, {**second, "question": "The #1 was born where?"}]
    source, task = one(folder, "musique", question_decomposition=hops)
    queries = [step.actions[0].arguments for step in source.gold(task).steps]
    assert queries == ["What is Acme founded by?", "R3"]
    asked = [step.actions[2].arguments.partition("Question: ")[2] for step in source.gold(task).steps]
    assert asked == ["What is Acme founded by?", "R3 was born where?"]  # what was found needs no article


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Acme >> located in the administrative entity", "In which administrative entity is Acme located?"),
        ("#1 >> spouse", "Who is the spouse of #1?"),
        ("Acme >> shares border with", "What does Acme share its border with?"),
        ("Acme >> award received", "What is the award received by Acme?"),
        ("Acme >> part of", "What is Acme part of?"),
        ("Ann >> member of political party", "Which political party is Ann a member of?"),
        ("Acme >> country of citizenship", "What is the country of citizenship of Acme?"),
        ("Where is #1?", "Where is #1?"),
        (" >> ", " >> "),
    ],
)
def test_relations_become_questions(question, words):
    assert relation_question(question) == words


def test_hotpotqa_asks_for_what_the_question_describes_in_its_words(folder):
    source, task = one(folder, "hotpotqa")
    columns = {
        "supporting_facts": {"title": ["Acme (firm)", "Ann Berg", "Acme (firm)"], "sent_id": [0, 1, 2]},
        "context": {"title": [page for page, _ in HOTPOT["context"]], "sentences": [s for _, s in HOTPOT["context"]]},
    }
    _, same = one(folder, "hotpotqa", **columns)
    assert same == task
    assert write_annotation(source.gold(task).steps).split("\n") == [
        "Subgoal 1: Answer the question: Ann Berg led which firm?",
        "Action 1-1: R1 = KnowledgeQuery(Ann Berg) = WikipediaPage(Ann Berg)",
        "Action 1-2: R2 = ParagraphRetrieve(R1, Query: Ann Berg led which firm?) = Paragraph(Ann Berg-2)",
        "Action 1-3: R3 = QA([R2], Question: Ann Berg led which firm?) = Acme",
        "",
        "Subgoal 2: Answer the question: What is sold by the result of Subgoal 1?",
        "Action 2-1: R4 = KnowledgeQuery(R3) = WikipediaPage(Acme (firm))",
        "Action 2-2: R5 = ParagraphRetrieve(R4, Query: What is sold by R3?) = Paragraph(Acme (firm)-1)",
        "Action 2-3: R6 = QA([R5, R3], Question: What is sold by R3?) = ink",
    ]
    simplified = {"question": "Q?", "answer": "yes", "type": "comparison"}
    (task,) = read(folder, "hotpotqa", simplified)
    assert task.row == "1" and find_refusal(source.rationale, task) == find_refusal(source.gold, task) == "no_support"


def test_hotpotqa_asks_the_same_of_two_things_that_the_question_compares(folder):
    pages = [["Ahr (hill)", ["It is 900 metres high."]], ["Bel", ["Bel is 1,200 metres high."]]]
    row = {"context": pages, "supporting_facts": [["Ahr (hill)", 0], ["Bel", 0]], "answer": "Bel"}
    source, task = one(folder, "hotpotqa", question="Which hill is higher, Bel or Ahr?", **row)
    assert write_annotation(source.gold(task).steps).split("\n") == [
        "Subgoal 1: Answer the question: How high is Bel?",
        "Action 1-1: R1 = KnowledgeQuery(Bel) = WikipediaPage(Bel)",
        "Action 1-2: R2 = ParagraphRetrieve(R1, Query: How high is Bel?) = Paragraph(Bel-1)",
        "Action 1-3: R3 = QA([R2], Question: How high is Bel?) = 1,200 metres",
        "",
        "Subgoal 2: Answer the question: How high is Ahr?",
        "Action 2-1: R4 = KnowledgeQuery(Ahr) = WikipediaPage(Ahr (hill))",
        "Action 2-2: R5 = ParagraphRetrieve(R4, Query: How high is Ahr?) = Paragraph(Ahr (hill)-0)",
        "Action 2-3: R6 = QA([R5], Question: How high is Ahr?) = 900 metres",
        "",
        "Subgoal 3: Answer the question from the result of Subgoal 1 and the result of Subgoal 2: "
        "Which hill is higher, Bel or Ahr?",
        "Action 3-1: R7 = QA([R3, R6], Question: Which hill is higher, Bel or Ahr?) = Bel",
    ]


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        ("Was Ann Berg's firm in Oslo?", "yes", "unnamed_step"),  # nothing says what to ask of either page
        ("What is sold by the firm that Ann Berg led?", "paper", "unnamed_step"),  # the page does not say it
        ("What is sold by the firm that Eva Lind led?", "ink", "unnamed_step"),
        ("Is #1 the firm that Ann Berg led?", "ink", "unwritable"),  # its own number would be taken for a step's
    ],
)
def test_hotpotqa_waits_for_a_teacher_where_a_step_cannot_be_named(folder, question, answer, reason):
    source, task = one(folder, "hotpotqa", question=question, answer=answer)
    assert find_refusal(source.gold, task) == reason and source.rationale(task)
