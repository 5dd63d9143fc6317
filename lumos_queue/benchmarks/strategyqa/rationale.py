"""Convert StrategyQA's rows, which state sub-questions without their answers.

The evidence is that of the first annotator who found evidence for every step, as in the LUMOS annotations. The rule
converts a row under two conditions. First, each step but the last is answered by a single fact, clearly better than by
any other fact (rationales/questions/facts.py); words of that fact become the result of the step. Second, the row's
answer follows from these results in the last step, if this can be checked (rationales/questions/last_step.py). All
other rows need a teacher.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lumos_queue.rationales.questions.facts import find_answer
from lumos_queue.rationales.questions.hops import REFERENCE, Hop, annotation, rationale
from lumos_queue.rationales.questions.last_step import answer_follows
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Annotation, Task

_YES_NO = re.compile(
    r"(?:is|are|was|were|does|do|did|has|have|had|can|could|would|will|should|must|if|based)\b", re.IGNORECASE
)
#: Negative words. If only one of the question and the last step is negative, their answers are opposite.
_NEGATIVE = re.compile(
    r"\b(?:not|no|never|without|un(?:able|likely|safe|known|usual|necessary|familiar|aware)|in(?:capable|appropriate)"
    r"|impossible|avoid|refuse|fail|lack|struggle|difficult|hard|prevent|devoid|free|absent|opposed?|reject|\w+n['’]t)\b",
    re.IGNORECASE,
)


def describe(task: Task) -> str:
    """Return the rationale: the facts, and the sub-questions with their evidence. Raises NotConvertible."""
    raw_texts = task.gold.get("written", task.gold)
    evidence = [step["paragraphs"] for _, step in _steps(task)]
    steps = list(zip(raw_texts["questions"], evidence, strict=True))
    return rationale(raw_texts["facts"], steps, str(task.gold["answer"] == "Yes"))


def annotate(task: Task) -> Annotation:
    """Return the gold solution by rule. Raises NotConvertible."""
    if not task.gold["questions"]:
        raise NotConvertible("no_rationale")
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


def _steps(task: Task) -> list[tuple[str, dict[str, Any]]]:
    """Return the sub-questions, each with evidence of the same annotator: the first who found evidence for all steps.

    Raises NotConvertible if no annotator did.
    """
    for annotator in task.gold["evidence"]:
        if not any(step["none"] for step in annotator):
            return list(zip(task.gold["questions"], annotator, strict=True))
    raise NotConvertible("no_evidence")


def _results(questions: Sequence[str], task: Task) -> list[str]:
    """Return the results of all steps but the last: an answer from the facts for each. Raises NotConvertible."""
    *before, last = questions
    used_numbers = {int(number) for question in questions for number in REFERENCE.findall(question)}
    if not before or not _YES_NO.match(last) or used_numbers != set(range(1, len(questions))):
        raise NotConvertible("no_step_answer")
    results, is_rough = [], False
    for question in before:
        if any(int(number) > len(results) for number in REFERENCE.findall(question)):
            raise NotConvertible("undefined_step")
        full = REFERENCE.sub(lambda number: results[int(number[1]) - 1], question)
        result = find_answer(full, task.gold["facts"])
        if result is None:
            result, is_rough = find_answer(full, task.gold["facts"], roughly=True), True
        if result is None:
            raise NotConvertible("unclear_fact")
        results.append(result)
    follows = answer_follows(last, results, task.gold["answer"])
    is_negated = bool(_NEGATIVE.search(last)) != bool(_NEGATIVE.search(task.question))
    if follows is False or (follows is None and (is_rough or is_negated)):
        raise NotConvertible("unclear_fact")
    return results
