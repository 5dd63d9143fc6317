"""GSM8K: grade-school word problems. Rows have the published form (openai/grade-school-math); an invented row:

    {"question": "Ida sold 36 tarts on …", "answer": "Ida sold 36/3 = <<36/3=12>>12 tarts …\\n…\\n#### 48"}

The gold answer is the text after `####`; rationale.py makes the gold solution from the marks `<<…>>`. A row whose
answer is only a number has no solution and is only for tests. In the plain files, the rationale is the lines without
the marks. In the socratic files, each line of the answer is `sub-question ** step`. Their rationale is the text after
the first ` ** ` without the other ` ** `, as in the LUMOS annotations. It keeps the marks, which are part of the steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Reference, RuleReview
from lumos_queue.benchmarks.gsm8k.rationale import EVIDENCE_VERSION, annotate, review
from lumos_queue.benchmarks.word_problems import WordProblems
from lumos_queue.errors import BadRow
from lumos_queue.rationales.maths.annotation_review import review_annotation
from lumos_queue.rationales.maths.calculations import BEFORE_STEP
from lumos_queue.rationales.maths.readings import readings
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import number_field, plain_number, tasks, text_field
from lumos_queue.records import AnnotatedSubgoal, Annotation, Task
from lumos_queue.scoring.numeric import read_number

FIELDS = ("question", "answer")
FORMAT = "GSM8K's rows with 'question' and 'answer' (train.jsonl, test.jsonl or their socratic forms)"
_NUMBER = re.compile(r"[-+$]{0,2}[0-9][0-9,]*(?:\.[0-9]+)?")
_MARK = re.compile(r"<<[^<>]*>>")


class GSM8K(WordProblems):
    name = "gsm8k"
    licence = "MIT"
    splits = ("train", "test")
    newest_rules = EVIDENCE_VERSION

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return tasks(read_records(path, FORMAT, FIELDS), self._task)

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
        question = text_field(record, row, "question")
        if isinstance(record.get("answer"), (int, float)):
            gold = {"answer": number_field(record, row, "answer"), "solution": ""}
            return Task(self.name, "", str(row), question, gold=gold)
        steps, mark, answer_text = text_field(record, row, "answer").rpartition("####")
        answer = read_number(answer_text)
        if answer is None or not (mark or _NUMBER.fullmatch(answer_text.strip())):
            raise BadRow(row, "answer", "expected a last line '#### <number>'")
        return Task(
            self.name, "", str(row), question, gold={"answer": plain_number(answer), "solution": steps.rstrip()}
        )

    def gold(self, task: Task) -> Annotation:
        return annotate(task.question, task.gold["solution"], task.gold["answer"], self.rule_version)

    def rationale(self, task: Task) -> str:
        solution = task.gold["solution"]
        if BEFORE_STEP in solution:
            return " ".join(solution.split(BEFORE_STEP)[1:])
        text = _MARK.sub("", solution)
        if not text.strip():
            raise NotConvertible("no_rationale")
        return text

    def reference(self, task: Task) -> Reference | None:
        """Return a program for each plausible reading of the marks, which do not state which operands are results."""
        answer = read_number(task.gold["answer"])
        all_prose = self.rule_version >= EVIDENCE_VERSION
        programs = readings(task.question, task.gold["solution"], answer, all_prose)
        return Reference(programs) if programs else None

    def review(self, task: Task) -> RuleReview:
        return review(task.question, task.gold["solution"], task.gold["answer"], self.rule_version)

    def review_steps(self, task: Task, steps: Sequence[AnnotatedSubgoal]) -> RuleReview:
        reading = review_annotation(task.question, task.gold["solution"], read_number(task.gold["answer"]), steps)
        return RuleReview(reading.doubts, reading.evidence)

    def count_ambiguous(self, task: Task) -> int:
        if self.rule_version >= EVIDENCE_VERSION:
            return len(self.review(task).evidence)
        return self._count_doubtful(task)


benchmark = GSM8K()
