"""Rows of each source, written for the tests, and how the tests read them."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.registry import open_source
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Task

STRATEGY = {
    "qid": "a1",
    "question": "Could Ann have met Bob?",
    "answer": False,
    "facts": ["Bob was born in 1900.", "Ann died in 1880."],
    "decomposition": ["When did Ann die?", "When was Bob born?", "Is #2 before #1?"],
    "evidence": [
        [["no_evidence"], [["Bob-1"]], ["operation"]],
        [[["Ann (poet)-3", "Ann (poet)-4"]], [["Bob-1"]], ["operation"]],
    ],
}
STEPS = STRATEGY["decomposition"]
MUSIQUE = {
    "id": "2hop__1_2",
    "question": "Where was the founder of Acme born?",
    "answer": "Oslo",
    "answerable": True,
    "answer_aliases": ["Kristiania"],
    "paragraphs": [
        {"idx": 0, "title": "Acme", "paragraph_text": "Acme was founded by Ann Berg.", "is_supporting": True},
        {"idx": 1, "title": "Ann Berg", "paragraph_text": "Ann Berg was born in Oslo.", "is_supporting": True},
    ],
    "question_decomposition": [
        {"question": "Acme >> founded by", "answer": "Ann Berg", "paragraph_support_idx": 0},
        {"question": "The town in which #1 was born?", "answer": "Oslo", "paragraph_support_idx": 1},
    ],
}
HOTPOT = {
    "_id": "h1",
    "question": "What is sold by the firm that Ann Berg led?",
    "answer": "ink",
    "supporting_facts": [["Acme (firm)", 0], ["Ann Berg", 1], ["Acme (firm)", 2]],
    "context": [
        ["Other", ["No."]],
        ["Acme (firm)", ["Acme is in Oslo.", "It is old.", " It sells ink."]],
        ["Ann Berg", ["Ann is a poet.", "She led Acme."]],
    ],
}
WEB = {
    "annotation_id": "w1",
    "website": "acme",
    "confirmed_task": "Find a hat",
    "action_reprs": [
        "[searchbox]  Search (all) -> TYPE: hat -> CLICK",
        "[a]   -> HOVER",
        "[link]  Hats (... -> CLICK",
        "[combobox]  Size -> SELECT: M",
        "[textbox]  Name -> ENTER",
    ],
}
TABLES = [
    {
        "db_id": "shop",
        "table_names_original": ["hat", "sale"],
        "column_types": ["text", "number", "text", "number"],
        "column_names": [],
        "column_names_original": [[-1, "*"], [0, "id"], [0, "name"], [1, "hat_id"]],
    }
]
SPIDER = {
    "db_id": "shop",
    "question": "Which hats sold?",
    "query": "SELECT  T1.name ,  count(*) FROM hat AS T1 JOIN sale AS T2 ON T1.id = T2.hat_id "
    "WHERE T1.name != 'a  (where' GROUP BY T1.name;",
}
AOK = {
    "split": "val",
    "image_id": 1,
    "question_id": "q1",
    "question": "What is on the mat?",
    "correct_choice_idx": 2,
    "choices": ["dog", "shoe", "cat", "cat"],
    "rationales": ["A cat.", "The cat lies there."],
}
PRM = {
    "question": {"problem": "What is $2+3$?", "ground_truth_answer": "5", "ground_truth_solution": "Add:\n$5$"},
    "label": {},
}
ROWS = {
    "strategyqa": STRATEGY,
    "musique": MUSIQUE,
    "hotpotqa": HOTPOT,
    "mind2web": WEB,
    "spider": SPIDER,
    "aokvqa": AOK,
    "prm800k": PRM,
}


IDS = {"strategyqa": "qid", "musique": "id", "hotpotqa": "_id", "mind2web": "annotation_id", "aokvqa": "question_id"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tables.json").write_text(json.dumps(TABLES))
    return tmp_path


def read(folder, name, *rows):
    path = folder / "rows.json"
    path.write_text(json.dumps(rows))
    return list(open_source(name).teaching.read(path, "train"))


def one(folder, name, **changes):
    (task,) = read(folder, name, {**ROWS[name], **changes})
    assert isinstance(task, Task), task
    return open_source(name), task


def find_refusal(method, task):
    with pytest.raises(NotConvertible) as error:
        method(task)
    return error.value.reason


# --- names ------------------------------------------------------------------------------------------------------------
