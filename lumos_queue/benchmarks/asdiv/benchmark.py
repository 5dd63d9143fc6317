"""ASDiv: diverse elementary problems. `ASDiv.xml` as published, or its masked CSV form; an invented row:

    <Problem ID="nluds-0000" Grade="1" Source="…"><Body>There are six grey and two white cats.</Body>
    <Question>How many cats are there?</Question><Solution-Type>Addition</Solution-Type>
    <Answer>8 (cats)</Answer><Formula>6+2=8</Formula></Problem>

The question shown is `Body + " " + Question`. Answers that are not numbers (a name, a time of day, a ratio) are
compared as text, ignoring case, spaces and a final dot. The rationale is the row's formula as it is, `9-4=5; 5+7=12`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.asdiv.rationale import annotate
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.masked_table import read_masked_table
from lumos_queue.benchmarks.word_problems import EquationProblems
from lumos_queue.errors import BadRow
from lumos_queue.readers.rows import first_character, plain_number, tasks, text_field
from lumos_queue.readers.xml import elements
from lumos_queue.records import Annotation, Score, Task
from lumos_queue.scoring.numeric import answer_scores, numeric_scores, read_number

FORMAT = "ASDiv.xml, with <Problem> elements that hold Body, Question, Answer and Formula, or its CSV form"


class ASDiv(EquationProblems):
    name = "asdiv"
    licence = "CC-BY-NC-4.0"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        if first_character(path, FORMAT) == "<":
            yield from tasks(elements(path, FORMAT, "Problem"), self._task)
        else:
            yield from read_masked_table(self.name, path)

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
        body, question = text_field(record, row, "Body").strip(), text_field(record, row, "Question").strip()
        answer, formula = text_field(record, row, "Answer").strip(), text_field(record, row, "Formula")
        number = read_number(answer)
        gold = {"answer": answer if number is None else plain_number(number), "formula": formula}
        return Task(self.name, "", text_field(record, row, "ID"), f"{body} {question}", gold=gold)

    def gold(self, task: Task) -> Annotation:
        if "equation" in task.gold:
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
        """Only a run of equations leaves open which of its numbers are earlier results."""
        return self._count_doubtful(task) if ";" in task.gold.get("formula", "") else 0


def _plain_text(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")


benchmark = ASDiv()
