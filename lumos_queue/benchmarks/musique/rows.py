"""Read MuSiQue's rows, as published in the ans and full files; an invented row:

    {"id": "2hop__1_2", "question": "Where was the founder of Acme born?", "answer": "Oslo", "answer_aliases": [],
     "answerable": true, "paragraphs": [{"idx": 0, "title": "Acme", "paragraph_text": "…", "is_supporting": true}, …],
     "question_decomposition": [{"question": "Acme >> founded by", "answer": "Ann", "paragraph_support_idx": 0},
                                {"question": "Where was #1 born?", "answer": "Oslo", "paragraph_support_idx": 7}]}

Paragraph 0 may be a supporting paragraph; the LUMOS conversion lost the rows where it is.
An agent may search all paragraphs of the row (`inputs["paragraphs"]`). Only conversions use the decomposition. The full
files have two rows with the same id for each question, answerable and unanswerable. The unanswerable row gets the id
`ID-unanswerable`, whatever the order of the two rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import ConversionFields, RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Task

FIELDS = ("question_decomposition", "paragraphs")
FORMAT = "MuSiQue's rows with 'question', 'answer', 'paragraphs' and 'question_decomposition'"
_TWIN = "-unanswerable"


def read_rows(path: Path | None, conversion: ConversionFields) -> Iterator[Task | BadRow]:
    """Yield the tasks of a file. Raises SpecError for another format.

    The file is read twice if it has unanswerable questions.
    """
    return tasks(read_records(path, FORMAT, FIELDS), partial(_task, _Twins(path), conversion))


class _Twins:
    """Makes the ids of rows: an unanswerable question gets another id if an answerable question has the same id."""

    def __init__(self, path: Path | None):
        self._path = path
        self._answerable: set[str] | None = None

    def name_row(self, name: str, answerable: bool) -> str:
        """Return the id of the task of a row, whose id in the file is `name`."""
        if answerable:
            return name
        if self._answerable is None:
            rows = read_records(self._path, FORMAT, FIELDS)
            self._answerable = {name for row in rows if not isinstance(row, BadRow) for name in _answerable_id(*row)}
        return f"{name}{_TWIN}" if name in self._answerable else name


def _answerable_id(row: int, record: Mapping[str, Any]) -> list[str]:
    """Return a list with the row's id if its question is answerable; [] for any other row."""
    node = RowNode(row, "", record)
    try:
        return [node["id"].label()] if _is_answerable(node) else []
    except BadRow:  # reported when the row is read as a task
        return []


def _is_answerable(node: RowNode) -> bool:
    return node["answerable"].truth() if "answerable" in node else True


def _task(twins: _Twins, conversion: ConversionFields, row: int, record: Mapping[str, Any]) -> Task:
    node = RowNode(row, "", record)
    paragraphs = _read_paragraphs(node)
    aliases = node["answer_aliases"].items() if "answer_aliases" in node else []
    gold = {
        "answer": node["answer"].label(),
        "aliases": [alias.value for alias in aliases if isinstance(alias.value, str)],
        "answerable": _is_answerable(node),
        "hops": conversion.read(lambda: _read_hops(node, paragraphs), []),
    }
    name = twins.name_row(node["id"].label(), gold["answerable"]) if "id" in node else str(row)
    inputs = {"paragraphs": [_page_of(item) for item in paragraphs.values()]}
    return Task("musique", "", name, node["question"].raw_text(), inputs, gold)


def _read_paragraphs(node: RowNode) -> dict[int, RowNode]:
    """Return the paragraphs by their `idx`, or by their position from 0 if they have no `idx`."""
    nodes = node["paragraphs"].items()
    return {item["idx"].whole() if "idx" in item else index: item for index, item in enumerate(nodes)}


def _read_hops(node: RowNode, paragraphs: Mapping[int, RowNode]) -> list[dict[str, Any]]:
    nodes = node["question_decomposition"].items() if "question_decomposition" in node else []
    return [_hop(item, paragraphs) for item in nodes]


def _hop(item: RowNode, paragraphs: Mapping[int, RowNode]) -> dict[str, Any]:
    hop: dict[str, Any] = {"question": item["question"].text(), "answer": item["answer"].label(), "idx": None}
    if "paragraph_support_idx" not in item:
        return hop
    number = item["paragraph_support_idx"].whole()
    if number not in paragraphs:
        raise item["paragraph_support_idx"].bad(f"no paragraph has the idx {number}")
    paragraph = paragraphs[number]
    hop |= {"idx": number, "title": paragraph["title"].text(), "text": paragraph["paragraph_text"].text()}
    raw_texts = {"question": item["question"].raw_text(), "text": paragraph["paragraph_text"].raw_text()}
    # The plan shows these texts; rules read the texts with single spaces.
    return hop | ({"written": raw_texts} if any(hop[name] != text for name, text in raw_texts.items()) else {})


def _page_of(paragraph: RowNode) -> dict[str, str]:
    """Return a paragraph for an agent's search, without the field that marks supporting paragraphs."""
    return {"title": paragraph["title"].text(), "text": paragraph["paragraph_text"].text()}
