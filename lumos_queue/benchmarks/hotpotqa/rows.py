"""Read HotpotQA's rows in the published form of the distractor and fullwiki files, or in columns; an invented row:

    {"_id": "5a", "question": "Were Ann and Bob born in the same town?", "answer": "no",
     "supporting_facts": [["Ann", 0], ["Bob", 2]], "context": [["Ann", ["Ann was born in …", …]], …]}

In the column form `supporting_facts` is `{"title": […], "sent_id": […]}`, `context` is `{"title": […], "sentences":
[[…]]}`, and the number of a row is its id. Only conversions use the supporting facts. A row without supporting facts
(as in the simplified file) has no rationale. A fullwiki row whose context lacks a supporting page has none either.
A row with MuSiQue's fields instead of a context is refused, because its paragraphs would be lost.
An agent may search all pages of the context (`inputs["paragraphs"]`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import CONVERTING, ConversionFields, RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Task
from lumos_queue.util.sanitize import storable

FIELDS = ("question", "answer")
FORMAT = "HotpotQA's distractor or fullwiki file, rows with 'question', 'answer', 'supporting_facts' and 'context'"
_MUSIQUE_FIELDS = ("paragraphs", "question_decomposition")


@dataclass(slots=True)
class GoldPages:
    """How supporting facts are read, and the number of rows whose context lacks a supporting page."""

    conversion: ConversionFields = field(default_factory=lambda: CONVERTING)
    missing: int = 0  #: rows with a supporting page that is not in their context


def read_rows(path: Path | None, gold_pages: GoldPages) -> Iterator[Task | BadRow]:
    """Yield the tasks of a file. Raises SpecError for a file of another format."""
    return tasks(read_records(path, FORMAT, FIELDS), partial(_task, gold_pages))


def _task(gold_pages: GoldPages, row: int, record: Mapping[str, Any]) -> Task:
    node = RowNode(row, "", record)
    if "context" not in node and (musique_fields := [name for name in _MUSIQUE_FIELDS if name in node]):
        raise node[musique_fields[0]].bad(
            "is not a field of HotpotQA, whose pages are in 'context': read this file as musique"
        )
    context = _pairs(node["context"], "sentences") if "context" in node else []
    pages: list[dict[str, Any]] | None = []
    if "supporting_facts" in node:
        pages = gold_pages.conversion.read(lambda: _pages(node["supporting_facts"], context), [])
        gold_pages.missing += pages is None
    gold = {"answer": node["answer"].label(), "pages": pages or []}
    name = node["_id"].label() if "_id" in node else str(row)
    inputs = {"paragraphs": _paragraphs(context)} if "context" in node else {}
    return Task("hotpotqa", "", name, node["question"].raw_text(), inputs, gold)


def _pages(facts: RowNode, context: Sequence[tuple[RowNode, RowNode]]) -> list[dict[str, Any]] | None:
    """Return the supporting pages, in the order of `facts`: title, index in the context, and supporting sentences.

    Return None if the context lacks a supporting page.
    """
    context_pages = {title.text(): (index, sentences) for index, (title, sentences) in enumerate(context)}
    pages: dict[str, dict[str, Any]] = {}
    for title, number in _pairs(facts, "sent_id"):
        name = title.text()
        if name not in context_pages:
            return None
        index, sentences = context_pages[name]
        page = pages.setdefault(name, {"title": name, "idx": index, "sentences": []})
        sentence_nodes = sentences.items()
        if 0 <= number.whole() < len(sentence_nodes):  # the published file names a few sentences that do not exist
            page["sentences"].append(sentence_nodes[number.whole()].text())
    return [page for page in pages.values() if page["sentences"]]


def _paragraphs(context: Sequence[tuple[RowNode, RowNode]]) -> list[dict[str, str]]:
    """Return the pages that an agent may search: all pages with text."""
    pages = [(title.text(), _join_sentences(sentences)) for title, sentences in context]
    return [{"title": title, "text": text} for title, text in pages if text]


def _join_sentences(sentences: RowNode) -> str:
    texts = [item.value for item in sentences.items()]
    if not all(isinstance(text, str) for text in texts):
        raise sentences.bad("expected a list of texts")
    return " ".join(storable(" ".join(texts))[0].split())


def _pairs(node: RowNode, second: str) -> list[tuple[RowNode, RowNode]]:
    """Return pairs of nodes, a title and its `second` value, from a list of pairs or from an object of two columns."""
    if not node.is_list():
        titles, second_column = node["title"].items(), node[second].items()
        if len(titles) != len(second_column):
            raise node.bad(f"{len(titles)} titles, but {len(second_column)} in '{second}'")
        return list(zip(titles, second_column, strict=True))
    pairs = [item.items() for item in node.items()]
    if any(len(pair) != 2 for pair in pairs):
        raise node.bad(f"expected pairs of a title and {second}")
    return [(pair[0], pair[1]) for pair in pairs]
