"""HotpotQA: questions over two pages. The distractor file as published, or its column form; an invented row:

    {"_id": "5a", "question": "Were Ann and Bob born in the same town?", "answer": "no",
     "supporting_facts": [["Ann", 0], ["Bob", 2]], "context": [["Ann", ["Ann was born in …", …]], …]}

In the column form `supporting_facts` is `{"title": […], "sent_id": […]}`, `context` is `{"title": […], "sentences":
[[…]]}`, and rows have no id: their number is it. A row without supporting facts (the simplified file) has no rationale.
A row without context that has the fields of MuSiQue's is refused: its paragraphs would be lost.
By rule, the question is parted into two, in its own words: what it asks of each of two things that it compares
(rationales/questions/comparisons.py), or what it describes on one page and asks of that on the other
(rationales/questions/bridges.py). The rows say nothing of such steps: where no rule names them, a row waits
for a teacher. What an agent may search are all pages of the context (`inputs["paragraphs"]`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.source import Source
from lumos_queue.errors import BadRow
from lumos_queue.rationales.questions.bridges import TitledPage, find_bridge
from lumos_queue.rationales.questions.comparisons import find_sides
from lumos_queue.rationales.questions.hops import REFERENCE, Hop, annotation, rationale, strip_brackets
from lumos_queue.rationales.questions.matching import occurs
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.fields import Node, json_rows
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Annotation, Task
from lumos_queue.util.sanitize import storable

FORMAT = "HotpotQA's distractor file, a JSON list of objects with 'question', 'answer', 'supporting_facts', 'context'"
_FROM_BOTH = "Answer the question from #1 and #2:"
_OF_MUSIQUE = ("paragraphs", "question_decomposition")


class HotpotQA(Source):
    name = "hotpotqa"
    domain = "complex_qa"
    prompt = "qa"
    licence = "CC-BY-SA-4.0"
    level = "oracle_tool"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return tasks(json_rows(path, FORMAT, ("question", "answer")), self._task)

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
        node = Node(row, "", record)
        if "context" not in node and (others := [name for name in _OF_MUSIQUE if name in node]):
            raise node[others[0]].bad(
                "is no field of HotpotQA, whose pages are in 'context': read this file as musique"
            )
        pages = _pages(node) if "supporting_facts" in node else []
        gold = {"answer": node["answer"].text(), "pages": pages}
        name = node["_id"].text() if "_id" in node else str(row)
        inputs = {"paragraphs": _paragraphs(node["context"])} if "context" in node else {}
        return Task(self.name, "", name, node["question"].text(), inputs, gold)

    def plan(self, task: Task) -> str:
        """The pages' supporting sentences, and the question on them: the rows have no sub-questions."""
        pages = _supporting(task)
        return rationale(
            [sentence for page in pages for sentence in page["sentences"]],
            [(task.question, [page["title"] for page in pages])], task.gold["answer"],
        )  # fmt: skip

    def gold(self, task: Task) -> Annotation:
        question, answer = task.question, task.gold["answer"]
        pages = sorted(_supporting(task), key=lambda page: _place(page, question))
        if len(pages) != 2:
            raise NotConvertible("unnamed_step")
        texts = [" ".join(page["sentences"]) for page in pages]
        names = [strip_brackets(page["title"]) for page in pages]
        if REFERENCE.search(question):
            raise NotConvertible("unwritable")
        if all(occurs(name, question) for name in names):
            found = find_sides(question, names, texts, answer)
            if found:
                hops = [_hop(page, side.question, side.result) for page, side in zip(pages, found, strict=True)]
                return annotation([*hops, Hop(question, answer, subgoal=f"{_FROM_BOTH} {question}")], answer)
        parted = find_bridge(question, list(map(TitledPage, names, texts)), answer)
        if parted is None:
            raise NotConvertible("unnamed_step")
        first, second = (pages[place] for place in parted.pages)
        return annotation([_hop(first, parted.first, parted.found), _hop(second, parted.second, answer)], answer)

    def facts(self, task: Task) -> str:
        """The supporting sentences, page by page, with the pages' titles."""
        return " ".join(f"{page['title']} {' '.join(page['sentences'])}" for page in task.gold["pages"])


def _hop(page: Mapping[str, Any], question: str, answer: str) -> Hop:
    return Hop(question, answer, [page["title"]], [f"{page['title']}-{page['idx']}"])


def _place(page: Mapping[str, Any], question: str) -> int:
    """Where the question names a page; after its end where it does not."""
    place = question.casefold().find(strip_brackets(page["title"]).casefold())
    return place if place >= 0 else len(question)


def _supporting(task: Task) -> list[dict[str, Any]]:
    if not task.gold["pages"]:
        raise NotConvertible("no_support")
    return task.gold["pages"]


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
    pages = [(title.text(), _joined(sentences)) for title, sentences in _context(node)]
    return [{"title": title, "text": text} for title, text in pages if text]


def _joined(sentences: Node) -> str:
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


source = HotpotQA()
