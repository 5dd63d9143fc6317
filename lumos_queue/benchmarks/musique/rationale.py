"""Convert MuSiQue's rows: each hop is a step. A relation such as `Acme >> founded by` becomes a question."""

from __future__ import annotations

import re

from lumos_queue.rationales.questions.hops import Hop, annotation, rationale
from lumos_queue.rationales.questions.relations import relation_question
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation, Task

#: A few hops are search words and no questions: `#1 who danced the hat dance cast`.
_ASKS = re.compile(r"(?<!#[0-9] )\b(?:who|whom|whose|what|which|when|where|why|how|name)\b", re.IGNORECASE)


def describe(task: Task) -> str:
    """Return the rationale: the supporting paragraphs and their sub-questions. Raises NotConvertible."""
    _check(task)
    hops = [hop | hop.get("written", {}) for hop in task.gold["hops"]]
    facts = ["", *(hop["text"] for hop in hops)]  # the published annotations have two spaces after `facts:`
    return rationale(facts, [(hop["question"], [hop["title"]]) for hop in hops], task.gold["answer"])


def annotate(task: Task) -> Annotation:
    """Return the gold solution by rule. Raises NotConvertible."""
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


def _check(task: Task) -> None:
    if not task.gold["answerable"]:
        raise NotConvertible("unanswerable")
    if not task.gold["hops"]:
        raise NotConvertible("no_rationale")
    if any(hop["idx"] is None for hop in task.gold["hops"]):
        raise NotConvertible("no_support")
