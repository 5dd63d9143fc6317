"""Convert StrategyQA's rows, which state sub-questions without their answers.

The evidence is that of the first annotator who found evidence for every step, as in the LUMOS annotations. The rule
converts a row under two conditions. First, each step but the last is answered by a single fact, clearly better than by
any other fact (rationales/questions/facts.py); words of that fact become the result of the step. Second, the row's
answer follows from these results in the last step, if this can be checked (rationales/questions/last_step.py). All
other rows need a teacher.

From version 2 of the rules on, a step with evidence and the mark `operation` retains its paragraphs, as in the LUMOS
annotations, and a result must be specific and not contradicted (rationales/questions/fact_checks.py).
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

NEWEST_RULES = 2
_ARTICLE = re.compile(r"\b[Aa]n? (?=#[1-9])")  #: a result has its own article, if any
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


def annotate(task: Task, rule_version: int = NEWEST_RULES) -> Annotation:
    """Return the gold solution by rule. Raises NotConvertible."""
    strict = rule_version > 1
    if not task.gold["questions"]:
        raise NotConvertible("no_rationale")
    steps, answer = _steps(task), task.gold["answer"]
    if not all(step["paragraphs"] for _, step in steps[:-1]):
        raise NotConvertible("no_step_answer")
    results = _results([question for question, _ in steps], task, strict)
    hops = []
    for (question, step), result in zip(steps, [*results, answer], strict=True):
        paragraphs = () if step["operation"] and not strict else step["paragraphs"]
        titles = list(dict.fromkeys(paragraph.rpartition("-")[0] for paragraph in paragraphs))
        hops.append(Hop(_ARTICLE.sub("", question) if strict else question, result, titles, paragraphs))
    return annotation(hops, answer)


def _steps(task: Task) -> list[tuple[str, dict[str, Any]]]:
    """Return the sub-questions, each with evidence of the same annotator: the first who found evidence for all steps.

    Raises NotConvertible if no annotator did.
    """
    for annotator in task.gold["evidence"]:
        if not any(step["none"] for step in annotator):
            return list(zip(task.gold["questions"], annotator, strict=True))
    raise NotConvertible("no_evidence")


def _results(questions: Sequence[str], task: Task, strict: bool) -> list[str]:
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
        result = find_answer(full, task.gold["facts"], strict=strict)
        if result is None:
            result, is_rough = find_answer(full, task.gold["facts"], True, strict), True
        if result is None:
            raise NotConvertible("unclear_fact")
        results.append(result)
    follows = answer_follows(last, results, task.gold["answer"], strict)
    is_negated = bool(_NEGATIVE.search(last)) != bool(_NEGATIVE.search(task.question))
    if follows is False or (follows is None and (is_rough or is_negated)):
        raise NotConvertible("unclear_fact")
    return results
