"""Convert rows of users' files to training data: by the rule for maths, or with the teacher's prompt of a domain.

The rule reads the calculator's marks `<<48/2=24>>` in solutions of GSM8K. Other rationales need a teacher.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.benchmarks.base import Benchmark, Reference, RuleReview
from lumos_queue.benchmarks.gsm8k.rationale import EVIDENCE_VERSION, annotate, review
from lumos_queue.rationales.maths.annotation_review import review_annotation
from lumos_queue.rationales.maths.doubtful_links import ambiguous_operands
from lumos_queue.rationales.maths.readings import readings
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import AnnotatedSubgoal, Annotation, Level, Task
from lumos_queue.scoring.numeric import read_number

_MARK = re.compile(r"<<[^<>]*>>")
_ANSWER_MARK = "####"  #: the mark before the answer in solutions of GSM8K


@dataclass(frozen=True, slots=True)
class Teaching:
    """How annotations of a domain are made and checked. Domains of plug-ins have no teacher's prompt."""

    check_level: str  #: as in Benchmark
    teacher_prompt: str  #: as in Benchmark
    has_rule: bool = False  #: whether marks in a rationale can be converted without a teacher


_BY_DOMAIN = {
    "maths": Teaching(Level.EXECUTED, "maths", has_rule=True),
    "complex_qa": Teaching(Level.ORACLE_TOOL, "qa"),
    "multimodal": Teaching(Level.ORACLE_TOOL, "multimodal"),
}
_DEFAULT = Teaching(Level.FORMAT, "")


def find_teaching(domain: str) -> Teaching:
    """Return the teaching of a domain. Without a teacher's prompt, only the form of annotations is checked."""
    return _BY_DOMAIN.get(domain, _DEFAULT)


class TeachingRows(Benchmark):
    """The part of a file's benchmark that teaches. A task's `gold["rationale"]` is the text of its row."""

    def __init__(self, domain: str):
        teaching = find_teaching(domain)
        self.domain, self.has_rule = domain, teaching.has_rule
        self.newest_rules = EVIDENCE_VERSION if teaching.has_rule else 1
        self.check_level, self.teacher_prompt = teaching.check_level, teaching.teacher_prompt

    def has_marks(self, task: Task) -> bool:
        """Whether the rationale of a task has marks, and its domain has a rule that reads them."""
        return self.has_rule and bool(_MARK.search(_solution(task)))

    def rationale(self, task: Task) -> str:
        text = _MARK.sub("", _steps(task)) if self.has_rule else _solution(task)
        if not text.strip():
            raise NotConvertible("no_rationale")
        return text

    def gold(self, task: Task) -> Annotation:
        if not self.has_rule:
            raise NotConvertible("no_rule")
        if not _solution(task).strip():
            raise NotConvertible("no_rationale")
        return annotate(task.question, _steps(task), self.gold_answer(task), self.rule_version)

    def reference(self, task: Task) -> Reference | None:
        """Return a program for each plausible reading of the marks, as GSM8K does; None if there is no such reading."""
        if not self.has_marks(task):
            return None
        answer = read_number(self.gold_answer(task))
        programs = readings(task.question, _steps(task), answer, self.rule_version >= EVIDENCE_VERSION)
        return Reference(programs) if programs else None

    def review(self, task: Task) -> RuleReview:
        if not self.has_marks(task):
            return RuleReview()
        return review(task.question, _steps(task), self.gold_answer(task), self.rule_version)

    def review_steps(self, task: Task, steps: Sequence[AnnotatedSubgoal]) -> RuleReview:
        if self.domain != "maths":
            return RuleReview()
        reading = review_annotation(task.question, _steps(task), read_number(self.gold_answer(task)), steps)
        return RuleReview(reading.doubts, reading.evidence)

    def count_ambiguous(self, task: Task) -> int:
        if self.rule_version >= EVIDENCE_VERSION:
            return len(self.review(task).evidence)
        try:
            steps, rationale = self.gold(task).steps, self.rationale(task)
        except NotConvertible:
            return 0
        return len(ambiguous_operands(steps, task.question, rationale))


def _solution(task: Task) -> str:
    return (task.gold or {}).get("rationale") or ""


def _steps(task: Task) -> str:
    """Return the rationale without the line that states the answer."""
    text = _solution(task)
    return (text.rpartition(_ANSWER_MARK)[0] or text).rstrip()
