"""MuSiQue: questions of two to four hops. JSON lines (or one list) as published, ans and full files; an invented row:

    {"id": "2hop__1_2", "question": "Where was the founder of Acme born?", "answer": "Oslo", "answer_aliases": [],
     "answerable": true, "paragraphs": [{"idx": 0, "title": "Acme", "paragraph_text": "…", "is_supporting": true}, …],
     "question_decomposition": [{"question": "Acme >> founded by", "answer": "Ann", "paragraph_support_idx": 0},
                                {"question": "Where was #1 born?", "answer": "Oslo", "paragraph_support_idx": 7}]}

Paragraph 0 supports like any other (the LUMOS conversion lost those rows).
What an agent may search are all paragraphs of the row (`inputs["paragraphs"]`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import Node, json_rows
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Task

FIELDS = ("question_decomposition", "paragraphs")
FORMAT = "MuSiQue's JSON lines with 'question', 'answer', 'paragraphs' and 'question_decomposition'"


def read_rows(path: Path | None) -> Iterator[Task | BadRow]:
    """The tasks of a file. Raises SpecError when it is another one."""
    return tasks(json_rows(path, FORMAT, FIELDS), _task)


def _task(row: int, record: Mapping[str, Any]) -> Task:
    node = Node(row, "", record)
    paragraphs = {item["idx"].whole(): item for item in node["paragraphs"].items()}
    gold = {
        "answer": node["answer"].text(),
        "aliases": [alias for alias in record.get("answer_aliases") or () if isinstance(alias, str)],
        "answerable": node["answerable"].truth() if "answerable" in node else True,
        "hops": [_hop(item, paragraphs) for item in node["question_decomposition"].items()],
    }
    if not gold["hops"]:
        raise node["question_decomposition"].bad("empty")
    inputs = {"paragraphs": [_page_of(item) for item in paragraphs.values()]}
    return Task("musique", "", node["id"].text(), node["question"].text(), inputs, gold)


def _hop(item: Node, paragraphs: Mapping[int, Node]) -> dict[str, Any]:
    hop = {"question": item["question"].text(), "answer": item["answer"].text(), "idx": None}
    support = item["paragraph_support_idx"]
    if support.value is None:
        return hop
    if support.whole() not in paragraphs:
        raise support.bad(f"no paragraph has the idx {support.value}")
    paragraph = paragraphs[support.whole()]
    hop |= {"idx": support.value, "title": paragraph["title"].text(), "text": paragraph["paragraph_text"].text()}
    written = {"question": item["question"].raw_text(), "text": paragraph["paragraph_text"].raw_text()}
    # As the plan shows them; rules read them with single spaces.
    return hop | ({"written": written} if any(hop[name] != text for name, text in written.items()) else {})


def _page_of(paragraph: Node) -> dict[str, str]:
    """A paragraph as an agent may search it: nothing says whether it supports the answer."""
    return {"title": paragraph["title"].text(), "text": paragraph["paragraph_text"].text()}
