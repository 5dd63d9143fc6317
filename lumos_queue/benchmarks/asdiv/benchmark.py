"""ASDiv: diverse elementary problems. `ASDiv.xml` as published, or its masked CSV form; an invented row:

    <Problem ID="nluds-0000" Grade="1" Source="…"><Body>There are six grey and two white cats.</Body>
    <Question>How many cats are there?</Question><Solution-Type>Addition</Solution-Type>
    <Answer>8 (cats)</Answer><Formula>6+2=8</Formula></Problem>

The question shown is `Body + " " + Question`. Answers that are no number (a name, a time of day, a ratio) are compared
as text, ignoring case, spaces and a final dot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.asdiv import rationale as formulas
from lumos_queue.benchmarks.base import Benchmark, Tried
from lumos_queue.benchmarks.mawps.benchmark import masked_rows, masked_task
from lumos_queue.errors import BadRow
from lumos_queue.rationales.maths import equations
from lumos_queue.readers.rows import first_character, plain_number, tasks, text_field
from lumos_queue.readers.xml import elements
from lumos_queue.records import Annotation, Score, Task
from lumos_queue.scoring.number_baselines import numeric_baselines
from lumos_queue.scoring.numeric import answer_scores, numeric_scores, read_number

FORMAT = "ASDiv.xml, with <Problem> elements that hold Body, Question, Answer and Formula, or its CSV form"


class ASDiv(Benchmark):
    name = "asdiv"
    domain = "maths"
    licence = "CC-BY-NC-4.0"
    splits = ("train", "dev", "test")
    metrics = ("accuracy", "strict")

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        if first_character(path, FORMAT) == "<":
            yield from tasks(elements(path, FORMAT, "Problem"), self._task)
        else:
            yield from tasks(masked_rows(path), lambda row, record: masked_task(self.name, row, record))

    def _task(self, row: int, record: Mapping[str, Any]) -> Task:
        body, question = text_field(record, row, "Body").strip(), text_field(record, row, "Question").strip()
        answer, formula = text_field(record, row, "Answer").strip(), text_field(record, row, "Formula")
        number = read_number(answer)
        gold = {"answer": answer if number is None else plain_number(number), "formula": formula}
        return Task(self.name, "", text_field(record, row, "ID"), f"{body} {question}", gold=gold)

    def gold(self, task: Task) -> Annotation:
        if "equation" in task.gold:
            return equations.annotate(task.question, task.gold["equation"], task.gold["answer"])
        return formulas.annotate(task.question, task.gold["formula"], task.gold["answer"])

    def score(self, task: Task, tried: Tried) -> Sequence[Score]:
        gold = task.gold["answer"]
        if read_number(gold) is not None:
            return numeric_scores(tried.answer, gold, tried.ending)
        same = tried.answer is not None and _plain_text(tried.answer) == _plain_text(gold)
        return answer_scores(same, tried.answer == gold, tried.ending)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        return numeric_baselines(tasks, lambda task: task.gold["answer"])


def _plain_text(text: str) -> str:
    return " ".join(text.casefold().split()).removesuffix(".")


benchmark = ASDiv()
