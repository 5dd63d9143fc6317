"""MuSiQue: questions of two to four hops. JSON lines (or one list) as published, ans and full files; an invented row:

    {"id": "2hop__1_2", "question": "Where was the founder of Acme born?", "answer": "Oslo", "answer_aliases": [],
     "answerable": true, "paragraphs": [{"idx": 0, "title": "Acme", "paragraph_text": "…", "is_supporting": true}, …],
     "question_decomposition": [{"question": "Acme >> founded by", "answer": "Ann", "paragraph_support_idx": 0},
                                {"question": "Where was #1 born?", "answer": "Oslo", "paragraph_support_idx": 7}]}

`Acme >> founded by` is put into words. Paragraph 0 supports like any other (the LUMOS conversion lost those rows).
What an agent may search are all paragraphs of the row (`inputs["paragraphs"]`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.source import Source
from lumos_queue.errors import BadRow
from lumos_queue.rationales.questions.hops import Hop, annotation, rationale
from lumos_queue.rationales.questions.relations import relation_question
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.fields import Node, json_rows
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Annotation, Task

FIELDS = ("question_decomposition", "paragraphs")
FORMAT = "MuSiQue's JSON lines with 'question', 'answer', 'paragraphs' and 'question_decomposition'"
#: A few hops are words to search for, and no questions: `#1 who danced the hat dance cast`.
_ASKS = re.compile(r"(?<!#[0-9] )\b(?:who|whom|whose|what|which|when|where|why|how|name)\b", re.IGNORECASE)


class MuSiQue(Source):
    name = "musique"
    domain = "complex_qa"
    prompt = "qa"
    licence = "CC-BY-4.0"
    level = "oracle_tool"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return tasks(json_rows(path, FORMAT, FIELDS), self._task)

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
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
        inputs = {"paragraphs": [_shown(item) for item in paragraphs.values()]}
        return Task(self.name, "", node["id"].text(), node["question"].text(), inputs, gold)

    def plan(self, task: Task) -> str:
        _check(task)
        hops = [hop | hop.get("written", {}) for hop in task.gold["hops"]]
        facts = ["", *(hop["text"] for hop in hops)]  # the published annotations have two spaces after `facts:`
        return rationale(facts, [(hop["question"], [hop["title"]]) for hop in hops], task.gold["answer"])

    def gold(self, task: Task) -> Annotation:
        _check(task)
        if task.gold["hops"][-1]["answer"].casefold() != task.gold["answer"].casefold():
            raise NotConvertible("value_differs")
        hops = [
            Hop(relation_question(hop["question"]), hop["answer"], [hop["title"]], [f"{hop['title']}-{hop['idx']}"])
            for hop in task.gold["hops"]
        ]
        if not all(_ASKS.search(hop.question) for hop in hops):
            raise NotConvertible("unnamed_step")
        return annotation(hops, task.gold["answer"])

    def right(self, task: Task, answer: str | None) -> bool:
        """The answer or one of its aliases."""
        return super().right(task, answer) or (
            answer is not None and answer.casefold().strip(" .") in {alias.casefold() for alias in task.gold["aliases"]}
        )

    def facts(self, task: Task) -> str:
        """The supporting paragraphs, with their titles."""
        return " ".join(f"{hop['title']} {hop['text']}" for hop in task.gold["hops"] if hop["idx"] is not None)


def _hop(item: Node, paragraphs: Mapping[int, Node]) -> dict[str, Any]:
    hop = {"question": item["question"].text(), "answer": item["answer"].text(), "idx": None}
    support = item["paragraph_support_idx"]
    if support.value is None:
        return hop
    if support.whole() not in paragraphs:
        raise support.bad(f"no paragraph has the idx {support.value}")
    paragraph = paragraphs[support.whole()]
    hop |= {"idx": support.value, "title": paragraph["title"].text(), "text": paragraph["paragraph_text"].text()}
    written = {"question": item["question"].written(), "text": paragraph["paragraph_text"].written()}
    # As the plan shows them; rules read them with single spaces.
    return hop | ({"written": written} if any(hop[name] != text for name, text in written.items()) else {})


def _shown(paragraph: Node) -> dict[str, str]:
    """A paragraph as an agent may search it: nothing says whether it supports the answer."""
    return {"title": paragraph["title"].text(), "text": paragraph["paragraph_text"].text()}


def _check(task: Task) -> None:
    if not task.gold["answerable"]:
        raise NotConvertible("unanswerable")
    if any(hop["idx"] is None for hop in task.gold["hops"]):
        raise NotConvertible("no_support")


source = MuSiQue()
