"""HotpotQA: questions over two pages. The distractor file as published, or its column form; an invented row:

    {"_id": "5a", "question": "Were Ann and Bob born in the same town?", "answer": "no",
     "supporting_facts": [["Ann", 0], ["Bob", 2]], "context": [["Ann", ["Ann was born in …", …]], …]}

In the column form `supporting_facts` is `{"title": […], "sent_id": […]}`, `context` is `{"title": […], "sentences":
[[…]]}`, and rows have no id: their number serves as one. A row without supporting facts (the simplified file) has no
rationale.
A row without context that has the fields of MuSiQue's is refused: its paragraphs would be lost.
What an agent may search are all pages of the context (`inputs["paragraphs"]`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import Node, json_rows
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Task
from lumos_queue.util.sanitize import storable

FORMAT = "HotpotQA's distractor file, a JSON list of objects with 'question', 'answer', 'supporting_facts', 'context'"
_OF_MUSIQUE = ("paragraphs", "question_decomposition")


def read_rows(path: Path | None) -> Iterator[Task | BadRow]:
    """The tasks of a file. Raises SpecError when it is another one."""
    return tasks(json_rows(path, FORMAT, ("question", "answer")), _task)


def _task(row: int, record: Mapping[str, Any]) -> Task:
    node = Node(row, "", record)
    if "context" not in node and (others := [name for name in _OF_MUSIQUE if name in node]):
        raise node[others[0]].bad("is not a field of HotpotQA, whose pages are in 'context': read this file as musique")
    pages = _pages(node) if "supporting_facts" in node else []
    gold = {"answer": node["answer"].text(), "pages": pages}
    name = node["_id"].text() if "_id" in node else str(row)
    inputs = {"paragraphs": _paragraphs(node["context"])} if "context" in node else {}
    return Task("hotpotqa", "", name, node["question"].text(), inputs, gold)


def _pages(node: Node) -> list[dict[str, Any]]:
    """Each supporting page with its place in the context and its supporting sentences, in order of first mention."""
    context = {title.text(): (place, sentences) for place, (title, sentences) in enumerate(_context(node["context"]))}
    pages: dict[str, dict[str, Any]] = {}
    for title, number in _pairs(node["supporting_facts"], "sent_id"):
        name = title.text()
        if name not in context:
            raise title.bad(f"no page of 'context' has the title '{name[:60]}'")
        place, sentences = context[name]
        page = pages.setdefault(name, {"title": name, "idx": place, "sentences": []})
        if 0 <= number.whole() < len(sentences.items()):  # the published file names a few that do not exist
            page["sentences"].append(sentences.items()[number.value].text())
    return [page for page in pages.values() if page["sentences"]]


def _paragraphs(node: Node) -> list[dict[str, str]]:
    """All pages as an agent may search them; those without any text are left out."""
    pages = [(title.text(), _join_sentences(sentences)) for title, sentences in _context(node)]
    return [{"title": title, "text": text} for title, text in pages if text]


def _join_sentences(sentences: Node) -> str:
    texts = [item.value for item in sentences.items()]
    if not all(isinstance(text, str) for text in texts):
        raise sentences.bad("expected a list of texts")
    return " ".join(storable(" ".join(texts))[0].split())


def _context(node: Node) -> Sequence[tuple[Node, Node]]:
    return _pairs(node, "sentences")


def _pairs(node: Node, second: str) -> list[tuple[Node, Node]]:
    """Titles with what belongs to them, from a list of pairs or from two columns."""
    if isinstance(node.value, Mapping):
        titles, others = node["title"].items(), node[second].items()
        if len(titles) != len(others):
            raise node.bad(f"{len(titles)} titles, but {len(others)} in '{second}'")
        return list(zip(titles, others, strict=True))
    pairs = [item.items() for item in node.items()]
    if any(len(pair) != 2 for pair in pairs):
        raise node.bad(f"expected pairs of a title and {second}")
    return [(pair[0], pair[1]) for pair in pairs]
