"""Read StrategyQA's rows, with facts, sub-questions and evidence: `train.json` as published; an invented row:

    {"qid": "1a", "term": "Ann", "question": "Could Ann have met Bob?", "answer": false,
     "facts": ["Ann died in 1800.", "Bob …"],
     "decomposition": ["When did Ann die?", "When was Bob born?", "Is #2 before #1?"],
     "evidence": [[[["Ann-3"]], [["Bob-1", "Bob-2"]], ["operation"]], …]}

`evidence` has, for each annotator and each step, lists of paragraph ids (`Title-number`) or marks such as `operation`.
The paragraphs are in a separate file. Only conversions use decomposition and evidence, so copies of the file without
these fields, or with all facts in one text, can be evaluated. In a file whose columns have a single type, marks are
lists: `["operation"]`. An agent may search the facts (`inputs["paragraphs"]`); their title is the row's `term`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import ConversionFields, RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Task

FIELDS = ("qid", "decomposition", "facts", "evidence", "answer")
FORMAT = "StrategyQA's train.json, rows with 'question', 'answer', 'facts' and 'decomposition'"
MARKS = ("operation", "no_evidence")


def read_rows(
    path: Path | None, conversion: ConversionFields, required_names: Sequence[str] = ()
) -> Iterator[Task | BadRow]:
    """Yield tasks of `train.json`; a row without one of `required_names` is bad. Raises SpecError for other files."""
    return tasks(read_records(path, FORMAT, FIELDS), partial(read_row, conversion, required_names=required_names))


def read_row(
    conversion: ConversionFields, row: int, record: Mapping[str, Any], required_names: Sequence[str] = ()
) -> Task:
    """Return the task of a row. Raises BadRow."""
    node = RowNode(row, "", record)
    for name in required_names:
        node[name]
    facts = _read_facts(node)
    decomposition = conversion.read(lambda: _read_texts(node, "decomposition"), _Texts([], []))
    gold = {
        "answer": "Yes" if node["answer"].truth() else "No",
        "facts": facts.texts,
        "questions": decomposition.texts,
        "evidence": conversion.read(lambda: _read_evidence(node, len(decomposition.texts)), []),
    }
    raw_texts = {"facts": facts.written, "questions": decomposition.written}
    if any(raw_texts[name] != gold[name] for name in raw_texts):
        gold["written"] = raw_texts  # the plan shows these texts; rules read the texts with single spaces
    title = node["term"].text() if "term" in node else ""
    inputs = {"paragraphs": [{"title": title, "text": fact} for fact in gold["facts"]]}
    name = node["qid"].label() if "qid" in node else str(row)
    return Task("strategyqa", "", name, node["question"].raw_text(), inputs, gold)


class _Texts(NamedTuple):
    """Texts with single spaces, and the original texts."""

    texts: list[str]
    written: list[str]


def _read_texts(node: RowNode, name: str) -> _Texts:
    return _Texts(node[name].texts(), node[name].texts(raw=True)) if name in node else _Texts([], [])


def _read_facts(node: RowNode) -> _Texts:
    """Return the row's facts: a list, or a text, which counts as a single fact."""
    if "facts" not in node or node["facts"].is_list() or not isinstance(node["facts"].value, str):
        return _read_texts(node, "facts")
    return _Texts([node["facts"].text()], [node["facts"].raw_text()])


def _read_evidence(node: RowNode, steps: int) -> list[list[dict[str, Any]]]:
    """Return a list for each annotator, with the evidence of each of the `steps` steps; [] if there are no steps."""
    if "evidence" not in node or not steps:
        return []
    return [_annotator(item, steps) for item in node["evidence"].items()]


def _annotator(node: RowNode, count: int) -> list[dict[str, Any]]:
    """Return an annotator's evidence: for each step the paragraphs, and whether it has the marks. Raises BadRow."""
    steps = node.items()
    if len(steps) != count:
        raise node.bad(f"{len(steps)} steps, but 'decomposition' has {count}")
    evidence = []
    for step in steps:
        items = [(item.text(), []) if isinstance(item.value, str) else ("", item.texts()) for item in step.items()]
        marks = [mark or texts[0] for mark, texts in items if mark or (len(texts) == 1 and texts[0] in MARKS)]
        lists = [texts for mark, texts in items if not mark and not (len(texts) == 1 and texts[0] in MARKS)]
        if unknown := [mark for mark in marks if mark not in MARKS]:
            raise step.bad(f"expected paragraphs, 'operation' or 'no_evidence', found '{unknown[0][:40]}'")
        paragraphs = list(dict.fromkeys(paragraph for texts in lists for paragraph in texts))
        evidence.append({"paragraphs": paragraphs, "operation": "operation" in marks, "none": "no_evidence" in marks})
    return evidence


def is_kept(task: Task) -> bool:
    """Whether the LUMOS conversion retained this row: an annotator found evidence for every step."""
    return any(not any(step["none"] for step in annotator) for annotator in task.gold["evidence"])
