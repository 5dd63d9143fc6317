"""StrategyQA: yes/no questions with facts, sub-questions and evidence. `train.json` as published; an invented row:

    {"qid": "1a", "term": "Ann", "question": "Could Ann have met Bob?", "answer": false,
     "facts": ["Ann died in 1800.", "Bob …"],
     "decomposition": ["When did Ann die?", "When was Bob born?", "Is #2 before #1?"],
     "evidence": [[[["Ann-3"]], [["Bob-1", "Bob-2"]], ["operation"]], …]}

`evidence` has for each annotator and step lists of paragraph ids (`Title-number`), or marks. The first annotator who
found something for every step is used, as for the LUMOS annotations. The rows state no answers of sub-questions: by
rule, a row is converted when of each step but the last one fact gives the answer, clearly more than any other
(rationales/questions/facts.py), and the row's own answer follows from these in the last one, as far as that can be told
(rationales/questions/closing.py). The words of the fact that answer are the result. All other rows wait for a teacher.

The paragraphs that the ids name are a file of their own. What an agent may search, a task's `inputs["paragraphs"]`, are
the facts, each under the title of the row's `term`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.source import Source
from lumos_queue.errors import BadRow
from lumos_queue.rationales.questions.closing import answer_follows
from lumos_queue.rationales.questions.facts import find_answer
from lumos_queue.rationales.questions.hops import REFERENCE, Hop, annotation, rationale
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.fields import Node, json_rows
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Annotation, Task

FIELDS = ("qid", "decomposition", "facts", "evidence")
FORMAT = "StrategyQA's train.json, a JSON list of objects with 'question', 'answer', 'facts' and 'decomposition'"
_YES_NO = re.compile(
    r"(?:is|are|was|were|does|do|did|has|have|had|can|could|would|will|should|must|if|based)\b", re.IGNORECASE
)
#: A question that has one where the last step has none is answered the other way round.
_NEGATIVE = re.compile(
    r"\b(?:not|no|never|without|un(?:able|likely|safe|known|usual|necessary|familiar|aware)|in(?:capable|appropriate)"
    r"|impossible|avoid|refuse|fail|lack|struggle|difficult|hard|prevent|devoid|free|absent|opposed?|reject|\w+n['’]t)\b",
    re.IGNORECASE,
)


class StrategyQA(Source):
    name = "strategyqa"
    domain = "complex_qa"
    prompt = "qa"
    licence = "MIT"
    level = "oracle_tool"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return tasks(json_rows(path, FORMAT, FIELDS), self._task)

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
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
        return Task(self.name, "", node["qid"].text(), node["question"].text(), inputs, gold)

    def plan(self, task: Task) -> str:
        written = task.gold.get("written", task.gold)
        evidence = [step["paragraphs"] for _, step in _steps(task)]
        steps = list(zip(written["questions"], evidence, strict=True))
        return rationale(written["facts"], steps, str(task.gold["answer"] == "Yes"))

    def gold(self, task: Task) -> Annotation:
        steps, answer = _steps(task), task.gold["answer"]
        if not all(step["paragraphs"] for _, step in steps[:-1]):
            raise NotConvertible("no_step_answer")
        results = _results([question for question, _ in steps], task)
        hops = []
        for (question, step), result in zip(steps, [*results, answer], strict=True):
            paragraphs = () if step["operation"] else step["paragraphs"]
            titles = list(dict.fromkeys(paragraph.rpartition("-")[0] for paragraph in paragraphs))
            hops.append(Hop(question, result, titles, paragraphs))
        return annotation(hops, answer)

    def right(self, task: Task, answer: str | None) -> bool:
        """`Yes` and `True` are the same answer, and so are `No` and `False`."""
        said = {"true": "Yes", "false": "No"}.get((answer or "").strip(" .").casefold(), answer)
        return super().right(task, said)

    def facts(self, task: Task) -> str:
        return " ".join(task.gold["facts"])


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


def _steps(task: Task) -> list[tuple[str, dict[str, Any]]]:
    """Each sub-question with its evidence by the first annotator who found some for all. Raises NotConvertible."""
    for annotator in task.gold["evidence"]:
        if not any(step["none"] for step in annotator):
            return list(zip(task.gold["questions"], annotator, strict=True))
    raise NotConvertible("no_evidence")


def is_kept(task: Task) -> bool:
    """Whether the LUMOS conversion kept this row: some annotator found evidence for every step."""
    return any(not any(step["none"] for step in annotator) for annotator in task.gold["evidence"])


def _results(questions: Sequence[str], task: Task) -> list[str]:
    """What the facts answer to each step but the last. Raises NotConvertible."""
    *before, last = questions
    used = {int(number) for question in questions for number in REFERENCE.findall(question)}
    if not before or not _YES_NO.match(last) or used != set(range(1, len(questions))):
        raise NotConvertible("no_step_answer")
    results, roughly = [], False
    for question in before:
        if any(int(number) > len(results) for number in REFERENCE.findall(question)):
            raise NotConvertible("undefined_step")
        full = REFERENCE.sub(lambda number: results[int(number[1]) - 1], question)
        result = find_answer(full, task.gold["facts"])
        if result is None:
            result, roughly = find_answer(full, task.gold["facts"], roughly=True), True
        if result is None:
            raise NotConvertible("unclear_fact")
        results.append(result)
    follows = answer_follows(last, results, task.gold["answer"])
    turned = bool(_NEGATIVE.search(last)) != bool(_NEGATIVE.search(task.question))
    if follows is False or (follows is None and (roughly or turned)):
        raise NotConvertible("unclear_fact")
    return results


source = StrategyQA()
