"""ASDiv: diverse elementary maths problems. A file is the published `ASDiv.xml`, its problems as rows, or its masked
form; an invented problem:

    <Problem ID="nluds-0000" Grade="1" Source="…"><Body>There are six grey and two white cats.</Body>
    <Question>How many cats are there?</Question><Solution-Type>Addition</Solution-Type>
    <Answer>8 (cats)</Answer><Formula>6+2=8</Formula></Problem>

The question of a task is `Body + " " + Question`. Answers that are not numbers (a name, a time of day, a ratio) are
compared as text, ignoring case, spaces and a final dot. The rationale is the row's formula unchanged, `9-4=5; 5+7=12`.
In rows, the fields have the names of these elements, or their lower case (`body`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.asdiv.rationale import annotate
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.masked_table import read_masked_task
from lumos_queue.benchmarks.word_problems import EquationProblems
from lumos_queue.errors import BadRow
from lumos_queue.readers.documents import is_xml
from lumos_queue.readers.fields import ConversionFields, RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import plain_number, tasks, text_field
from lumos_queue.readers.xml import elements
from lumos_queue.records import Annotation, Score, Task
from lumos_queue.scoring.numeric import answer_scores, numeric_scores, read_number

FORMAT = (
    "ASDiv.xml, with <Problem> elements that hold Body, Question, Answer and Formula, such rows, or its masked form"
)
FIELDS = ("Question", "question")
_NAMES = {name.lower(): name for name in ("ID", "Body", "Question", "Answer", "Formula")}


class ASDiv(EquationProblems):
    name = "asdiv"
    licence = "CC-BY-NC-4.0"

    def _rows(self, conversion: ConversionFields, path: Path | None, split: str) -> Iterator[Task | BadRow]:
        rows = elements(path, FORMAT, "Problem") if is_xml(path, FORMAT) else read_records(path, FORMAT, FIELDS)
        return tasks(rows, lambda row, record: self._task(row, record, conversion))

    def _task(self, row: int, record: Mapping[str, Any], conversion: ConversionFields) -> Task:
        record = {_NAMES.get(name, name): value for name, value in record.items()}
        node = RowNode(row, "", record)
        if "Numbers" in node:
            return read_masked_task(self.name, row, record, conversion)
        body, question = text_field(record, row, "Body").strip(), text_field(record, row, "Question").strip()
        answer = node["Answer"].label() if isinstance(record.get("Answer"), (int, float)) else ""
        answer = answer or text_field(record, row, "Answer").strip()
        number = read_number(answer)
        gold = {"answer": answer if number is None else plain_number(number)}
        if formula := conversion.read(lambda: node["Formula"].raw_text() if "Formula" in node else "", ""):
            gold["formula"] = formula
        name = node["ID"].raw_text() if "ID" in node else str(row)
        return Task(self.name, "", name, f"{body} {question}", gold=gold)

    def gold(self, task: Task) -> Annotation:
        if "formula" not in task.gold:
            return super().gold(task)
        return annotate(task.question, task.gold["formula"], task.gold["answer"])

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        gold = task.gold["answer"]
        if read_number(gold) is not None:
            return numeric_scores(result.answer, gold, result.ending)
        same = result.answer is not None and _plain_text(result.answer) == _plain_text(gold)
        return answer_scores(same, result.answer == gold, result.ending)

    def rationale(self, task: Task) -> str:
        return task.gold["formula"] if "formula" in task.gold else super().rationale(task)

    def count_ambiguous(self, task: Task) -> int:
        """Count ambiguous operands of the gold program; a row with a single equation has none."""
        return self._count_doubtful(task) if ";" in task.gold.get("formula", "") else 0


def _plain_text(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")


benchmark = ASDiv()
