"""HotpotQA and MuSiQue: their files, their scores, and a rule that needs no model."""

from __future__ import annotations

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.formulations.cot import cot
from lumos_queue.formulations.direct import direct
from lumos_queue.records import Task
from lumos_queue.scoring import judge
from lumos_queue.scoring.page_baselines import likeliest_title
from tests.benchmark_files import said_by, scores, write_json

HOTPOTQA, MUSIQUE = open_benchmark("hotpotqa"), open_benchmark("musique")


def hotpot(answer="Oslo", pages=()):
    inputs = {"paragraphs": [{"title": title, "text": text} for title, text in pages]}
    return Task("hotpotqa", "", "1", "Where was the founder of Acme born?", inputs, {"answer": answer, "pages": []})


def test_three_forms_of_hotpotqa_are_one(tmp_path):
    bare = {"question": "Where was the founder of Acme born?", "answer": "Oslo", "type": "bridge"}
    context = [
        ["Acme", ["Acme was founded by Ann.", " It is large."]],
        ["Ann", ["Ann was born in Oslo."]],
        ["Void", [""]],
    ]
    support = [["Acme", 0], ["Ann", 0]]
    full = {**bare, "_id": "5a", "context": context, "supporting_facts": support}
    columns = {
        **bare,
        "context": {"title": [one for one, _ in context], "sentences": [many for _, many in context]},
        "supporting_facts": {"title": ["Acme", "Ann"], "sent_id": [0, 0]},
    }
    (first, second, third) = HOTPOTQA.read(write_json(tmp_path, [full, columns, bare]), "dev")
    assert isinstance(first, Task) and isinstance(second, Task) and isinstance(third, Task)
    assert (
        first.inputs
        == second.inputs
        == {
            "paragraphs": [
                {"title": "Acme", "text": "Acme was founded by Ann. It is large."},
                {"title": "Ann", "text": "Ann was born in Oslo."},
            ]
        }
    )
    assert third.inputs == {} and first.gold == second.gold and third.gold["answer"] == "Oslo"
    assert HOTPOTQA.gold(first).answer == "Oslo"
    with pytest.raises(SpecError, match="no_support"):
        HOTPOTQA.gold(third)
    assert HOTPOTQA.notes[0].startswith("3 rows") and HOTPOTQA.notes[1].startswith("1 of them have no pages")


def test_musiques_rows_are_not_taken_for_questions_without_pages(tmp_path, shared_data):
    bare = {"question": "Where?", "answer": "Oslo"}
    rows = [bare, bare | {"paragraphs": []}, bare | {"question_decomposition": []}, bare | {"id": "2hop__1_2"}]
    found = list(HOTPOTQA.read(write_json(tmp_path, rows), "dev"))
    assert [type(row) for row in found] == [Task, BadRow, BadRow, Task]
    assert str(found[1]) == (
        "row 2, field 'paragraphs': is not a field of HotpotQA, whose pages are in 'context': read this file as musique"
    )
    real = list(HOTPOTQA.read(shared_data / "musique" / "musique_ans_dev_sample.jsonl", "dev"))
    assert len(real) == 120 and all(isinstance(row, BadRow) for row in real)


def test_a_page_that_is_no_text_is_a_bad_row(tmp_path):
    row = {"question": "Where?", "answer": "Oslo", "context": [["Acme", ["Founded.", 3]]], "supporting_facts": []}
    (bad,) = HOTPOTQA.read(write_json(tmp_path, [row]), "dev")
    assert isinstance(bad, BadRow) and bad.field == "context[0][1]"


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("Answer: The Oslo.", "Oslo", (1, 1)),
        ("in Oslo", "Oslo", (0, 2 / 3)),
        ("", "Oslo", (0, 0)),
        (None, "Oslo", (0, 0)),
        ("Yes.", "yes", (1, 1)),
        ("True", "yes", (1, 1)),
        ("false", "no", (1, 1)),
        ("True", "no", (0, 0)),
        ("yes it is", "yes", (0, 0)),  # yes and no are right or wrong as a whole
        ("no", "no man's land", (0, 0)),
        ("True", "True North", (0, 2 / 3)),
        ("No answer", "Oslo", (0, 0)),
    ],
)
def test_hotpotqa_is_scored_as_by_its_own_script(answer, gold, expected):
    found = scores(HOTPOTQA, hotpot(gold), answer)
    assert (found["exact_match"], found["f1"]) == pytest.approx(expected)
    assert judge.METRIC not in found


def test_faults_14_and_15_answers_of_cot_and_direct_models_are_judged_whole():
    frame = "Ann founded it. Based on these evidences and decomposed questions, the answer is {}."
    for said, gold in [("True", "yes"), ("False", "no"), ("Chief of Protocol", "Chief of Protocol")]:
        for formulation, reply in [(cot, frame.format(said)), (direct, said)]:
            answer = said_by(formulation, hotpot(gold), reply)
            assert scores(HOTPOTQA, hotpot(gold), answer)["exact_match"] == 1
            assert scores(HOTPOTQA, hotpot("Oslo"), answer)["exact_match"] == 0


def test_the_likeliest_title_is_of_a_page_that_the_question_does_not_name():
    pages = [
        ("Acme", "Where was the founder of Acme born?"),
        ("Bob", "Bob sells."),
        ("Oslo", "The founder was born here."),
    ]
    assert likeliest_title(hotpot(pages=pages)) == "Oslo"
    assert likeliest_title(hotpot()) is None
    assert HOTPOTQA.baselines([hotpot("Oslo", pages), hotpot("yes", pages), hotpot()]) == {
        "always yes": [False, True, False],
        "likeliest title": [True, False, False],
    }
    assert HOTPOTQA.baselines([hotpot("yes")]) == {"always yes": [True]}


def musique(answer="New York City", aliases=("NYC", "the Big Apple"), answerable=True):
    gold = {"answer": answer, "aliases": list(aliases), "answerable": answerable, "hops": []}
    return Task("musique", "", "2hop__1_2", "Where was the founder of Acme born?", {"paragraphs": []}, gold)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("New York City", (1, 1)),
        ("nyc.", (1, 1)),
        ("Big Apple", (1, 1)),
        ("Answer: NYC", (1, 1)),
        ("York", (0, 0.5)),
        ("a big red apple", (0, 0.8)),
        ("Oslo", (0, 0)),
        ("No answer", (0, 0)),
        (None, (0, 0)),
    ],
)
def test_musique_takes_the_best_of_answer_and_aliases(answer, expected):
    found = scores(MUSIQUE, musique(), answer)
    assert (found["exact_match"], found["f1"]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "ending", "right"),
    [
        ("No answer.", "answered", 1),
        (None, "no_answer", 1),
        ("New York City", "answered", 0),
        (None, "action_error", 0),
        (None, "limit", 0),
        (None, "unreadable", 0),
        (None, "infra_error", 0),
    ],
)
def test_a_question_without_answer_is_right_when_none_is_given_on_purpose(answer, ending, right):
    found = scores(MUSIQUE, musique(answerable=False), answer, ending)
    assert found == {"exact_match": right, "f1": right}
    assert scores(MUSIQUE, musique(), answer, ending)["exact_match"] == (answer == "New York City")


def test_musique_shows_all_paragraphs_and_not_which_support(tmp_path):
    row = {
        "id": "2hop__1_2",
        "question": "Where was the founder of Acme born?",
        "answer": "Oslo",
        "answer_aliases": [],
        "answerable": True,
        "paragraphs": [
            {"idx": 0, "title": "Acme", "paragraph_text": "Acme was founded by Ann.", "is_supporting": True},
            {"idx": 1, "title": "Ann", "paragraph_text": "Ann was born in Oslo.", "is_supporting": True},
            {"idx": 2, "title": "Bob", "paragraph_text": "Bob sells.", "is_supporting": False},
        ],
        "question_decomposition": [
            {"question": "Acme >> founded by", "answer": "Ann", "paragraph_support_idx": 0},
            {"question": "Where was #1 born?", "answer": "Oslo", "paragraph_support_idx": 1},
        ],
    }
    without = {**row, "id": "2hop__1_3", "answerable": False}
    task, other = MUSIQUE.read(write_json(tmp_path, [row, without]), "dev")
    assert isinstance(task, Task) and isinstance(other, Task)
    assert task.inputs["paragraphs"][0] == {"title": "Acme", "text": "Acme was founded by Ann."}
    assert [one["title"] for one in task.inputs["paragraphs"]] == ["Acme", "Ann", "Bob"]
    assert "Acme-0" in str(MUSIQUE.gold(task))  # supporting paragraph 0 is not dropped
    assert MUSIQUE.notes[0].startswith("2 rows") and MUSIQUE.notes[1].startswith("1 of them have no answer")
    assert MUSIQUE.baselines([task, other])["likeliest title"] == [False, False]
