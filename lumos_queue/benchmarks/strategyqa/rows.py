"""StrategyQA: yes/no questions with facts, sub-questions and evidence. `train.json` as published; an invented row:

    {"qid": "1a", "term": "Ann", "question": "Could Ann have met Bob?", "answer": false,
     "facts": ["Ann died in 1800.", "Bob …"],
     "decomposition": ["When did Ann die?", "When was Bob born?", "Is #2 before #1?"],
     "evidence": [[[["Ann-3"]], [["Bob-1", "Bob-2"]], ["operation"]], …]}

`evidence` has for each annotator and step lists of paragraph ids (`Title-number`), or marks. The paragraphs that the
ids name are a separate file. What an agent may search, a task's `inputs["paragraphs"]`, are the facts, each under the
title of the row's `term`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import Node, json_rows
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Task

FIELDS = ("qid", "decomposition", "facts", "evidence")
FORMAT = "StrategyQA's train.json, a JSON list of objects with 'question', 'answer', 'facts' and 'decomposition'"


def read_rows(path: Path | None) -> Iterator[Task | BadRow]:
    """The tasks of `train.json`. Raises SpecError for another file."""
    return tasks(json_rows(path, FORMAT, FIELDS), _task)


def _task(row: int, record: Mapping[str, Any]) -> Task:
    node = Node(row, "", record)
    gold = {
        "answer": "Yes" if node["answer"].truth() else "No",
        "facts": node["facts"].texts(),
        "questions": node["decomposition"].texts(),
        "evidence": [_annotator(item, node["decomposition"]) for item in node["evidence"].items()],
    }
    written = {"facts": node["facts"].texts(written=True), "questions": node["decomposition"].texts(written=True)}
    if any(written[name] != gold[name] for name in written):
        gold["written"] = written  # as the plan shows them; rules read them with single spaces
    title = node["term"].text() if "term" in node else ""
    inputs = {"paragraphs": [{"title": title, "text": fact} for fact in gold["facts"]]}
    return Task("strategyqa", "", node["qid"].text(), node["question"].text(), inputs, gold)


def _annotator(node: Node, decomposition: Node) -> list[dict[str, Any]]:
    """For each step its paragraphs, and whether it is an operation, or was left without evidence."""
    steps = node.items()
    if len(steps) != len(decomposition.items()):
        raise node.bad(f"{len(steps)} steps, but 'decomposition' has {len(decomposition.items())}")
    found = []
    for step in steps:
        marks = [item.text() for item in step.items() if isinstance(item.value, str)]
        lists = [item.texts() for item in step.items() if not isinstance(item.value, str)]
        if unknown := [mark for mark in marks if mark not in ("operation", "no_evidence")]:
            raise step.bad(f"expected paragraphs, 'operation' or 'no_evidence', found '{unknown[0][:40]}'")
        paragraphs = list(dict.fromkeys(paragraph for one in lists for paragraph in one))
        found.append({"paragraphs": paragraphs, "operation": "operation" in marks, "none": "no_evidence" in marks})
    return found


def is_kept(task: Task) -> bool:
    """Whether the LUMOS conversion kept this row: some annotator found evidence for every step."""
    return any(not any(step["none"] for step in annotator) for annotator in task.gold["evidence"])
