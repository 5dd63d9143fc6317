"""MuSiQue: questions of two to four hops over twenty paragraphs. rows.py describes the format.

`exact_match` and `f1` are the metrics of MuSiQue's metrics/answer.py: the best score over the answer and its aliases.
The full files also have questions whose paragraphs do not contain the answer (`answerable` is false). MuSiQue's own
evaluation excludes these from the two metrics and judges them in pairs with their answerable twins
(`group_answer_sufficiency`). In this project every row counts: an unanswerable question is right if the agent stops
without an answer or answers `No answer`. Otherwise it is wrong, also if the episode failed. For the published metrics,
evaluate the ans files, which have no unanswerable questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, RowReader
from lumos_queue.benchmarks.musique.rationale import annotate, describe
from lumos_queue.benchmarks.musique.rows import read_rows
from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import CONVERTING, ConversionFields
from lumos_queue.records import Annotation, Ending, Level, Score, Task
from lumos_queue.scoring.page_baselines import page_baselines
from lumos_queue.scoring.spans import exact_match, f1, is_no_answer, read_answer

PUBLISHED = {"ans": 2417, "full": 4834}  #: rows of the development sets


class MuSiQue(Benchmark):
    name = "musique"
    domain = "complex_qa"
    licence = "CC-BY-4.0"
    metrics = ("exact_match", "f1")
    check_level = Level.ORACLE_TOOL
    teacher_prompt = "qa"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return self._read(ConversionFields(required=False), path, split)

    @property
    def teaching(self) -> RowReader:
        return RowReader(self.splits, self.options, partial(self._read, CONVERTING))

    def _read(self, conversion: ConversionFields, path: Path | None, split: str) -> Iterator[Task | BadRow]:
        self.notes, row_count, unanswerable_rows = [], 0, 0
        for row in read_rows(path, conversion):
            row_count += 1
            unanswerable_rows += isinstance(row, Task) and not row.gold["answerable"]
            yield row
        if split == "dev":
            published_rows = PUBLISHED["full" if unanswerable_rows else "ans"]
            self.notes.append(f"{row_count:,} rows; MuSiQue's development set of this kind has {published_rows:,}")
        if unanswerable_rows:
            self.notes.append(
                f"{unanswerable_rows:,} of them have no answer: right if the agent gives none, or answers 'No answer'"
            )
        self.notes += conversion.notes()

    def gold(self, task: Task) -> Annotation:
        return annotate(task)

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        if not task.gold["answerable"]:
            right = float(_abstains(result))
            return Score("exact_match", right, detail="unanswerable"), Score("f1", right, detail="unanswerable")
        if result.answer is None:
            return Score("exact_match", 0.0), Score("f1", 0.0)
        answer, golds = read_answer(result.answer), _golds(task)
        return (
            Score("exact_match", float(any(exact_match(answer, gold) for gold in golds))),
            Score("f1", max(f1(answer, gold) for gold in golds)),
        )

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        return page_baselines(tasks, lambda task: _golds(task) if task.gold["answerable"] else [])

    def rationale(self, task: Task) -> str:
        return describe(task)

    def is_right(self, task: Task, answer: str | None) -> bool:
        """Whether the answer is the gold answer or one of its aliases."""
        return super().is_right(task, answer) or (
            answer is not None and answer.casefold().strip(" .") in {alias.casefold() for alias in task.gold["aliases"]}
        )

    def facts(self, task: Task) -> str:
        """Return the supporting paragraphs with their titles."""
        return " ".join(f"{hop['title']} {hop['text']}" for hop in task.gold["hops"] if hop["idx"] is not None)


def _golds(task: Task) -> list[str]:
    return [task.gold["answer"], *task.gold["aliases"]]


def _abstains(result: EpisodeResult) -> bool:
    return result.ending == Ending.NO_ANSWER or (result.answer is not None and is_no_answer(result.answer))


benchmark = MuSiQue()
