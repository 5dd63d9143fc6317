"""Convert HotpotQA's rows by rule: divide the question into two questions with its words.

A question that compares two things becomes a question about each thing (rationales/questions/comparisons.py). A
question that describes a thing becomes a question for that thing, which one page answers, and a question about it,
which the other page answers (rationales/questions/bridges.py). The rows state no steps, so other rows need a teacher.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.rationales.questions.bridges import TitledPage, find_bridge
from lumos_queue.rationales.questions.comparisons import find_sides
from lumos_queue.rationales.questions.hops import REFERENCE, Hop, annotation, rationale, strip_brackets
from lumos_queue.rationales.questions.word_matches import occurs
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation, Task

NEWEST_RULES = 2
_FROM_BOTH = "Answer the question from #1 and #2:"


def describe(task: Task) -> str:
    """Return the rationale: the pages' supporting sentences, the question and the answer. Raises NotConvertible."""
    pages = _require_pages(task)
    return rationale(
        [sentence for page in pages for sentence in page["sentences"]],
        [(task.question.strip(), [page["title"] for page in pages])],
        task.gold["answer"],
    )


def annotate(task: Task, rule_version: int = NEWEST_RULES) -> Annotation:
    """Return the gold solution by rule, which reads the question with single spaces. Raises NotConvertible."""
    strict = rule_version > 1
    question, answer = " ".join(task.question.split()), task.gold["answer"]
    pages = sorted(_require_pages(task), key=lambda page: _find_position(page, question))
    if len(pages) != 2:
        raise NotConvertible("unnamed_step")
    texts = [" ".join(page["sentences"]) for page in pages]
    names = [strip_brackets(page["title"]) for page in pages]
    if REFERENCE.search(question):
        raise NotConvertible("unwritable")
    if all(occurs(name, question) for name in names):
        sides = find_sides(question, names, texts, answer, strict)
        if sides:
            hops = [_hop(page, side.question, side.result) for page, side in zip(pages, sides, strict=True)]
            return annotation([*hops, Hop(question, answer, subgoal=f"{_FROM_BOTH} {question}")], answer)
    bridge = find_bridge(question, list(map(TitledPage, names, texts)), answer, strict)
    if bridge is None:
        raise NotConvertible("unnamed_step")
    first, second = (pages[index] for index in bridge.pages)
    return annotation([_hop(first, bridge.first, bridge.answer), _hop(second, bridge.second, answer)], answer)


def _hop(page: Mapping[str, Any], question: str, answer: str) -> Hop:
    return Hop(question, answer, [page["title"]], [f"{page['title']}-{page['idx']}"])


def _find_position(page: Mapping[str, Any], question: str) -> int:
    """Return the index of the page's title in the question; the question's length if the title is not in it."""
    position = question.casefold().find(strip_brackets(page["title"]).casefold())
    return position if position >= 0 else len(question)


def _require_pages(task: Task) -> list[dict[str, Any]]:
    if not task.gold["pages"]:
        raise NotConvertible("no_support")
    return task.gold["pages"]
