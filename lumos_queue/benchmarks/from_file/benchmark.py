"""The benchmark of a user's file: its rows come from the file, and everything else is in its definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.from_file.definition import OWN, FileDefinition
from lumos_queue.benchmarks.from_file.judge_votes import may_ask_again, score_votes
from lumos_queue.benchmarks.from_file.row_choices import FORMS, OPTION
from lumos_queue.benchmarks.from_file.row_tasks import RowTasks, pictures_beside
from lumos_queue.benchmarks.from_file.rubrics import write_prompt, write_reminder
from lumos_queue.benchmarks.from_file.scorers import open_scorer
from lumos_queue.benchmarks.from_file.teaching import TeachingRows
from lumos_queue.errors import BadRow
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Completion, Score, Task

FORMAT = "a file of rows: CSV, TSV, JSON, JSON lines or Parquet"


class FileBenchmark(TeachingRows):
    """The benchmark of a file. `definition` is stored in the spec of each of its jobs.

    A task's `gold` has `answer` (the first right answer), `answers` (all of them), `choices`, `rationale`, and `meta`:
    the other columns of its row. No formulation sees any of this.
    """

    splits = (OWN, "train", "dev", "test")
    options: Mapping[str, str] = {OPTION: f"how answers name choices: {', '.join(FORMS)}"}

    def __init__(self, definition: FileDefinition):
        """Raises SpecError for an unknown scorer."""
        super().__init__(definition.domain)
        self.definition = definition
        self.name, self.licence = definition.name, definition.licence
        self._scorer = open_scorer(definition.scorer) if definition.scorer else None
        if self._scorer:
            self.metrics, self.answers = self._scorer.metrics, self._scorer.answers
        if definition.judge:
            self.judge_votes = definition.judge.votes
            self.scores_readings = False  # the judge only sees the main answer

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """Yield the tasks of the file. `options` are ignored, because the definition already contains them."""
        question = self.definition.fields.question
        pictures = pictures_beside(path) if path and self.definition.fields.images else None
        if pictures:
            self.artifacts = pictures.artifacts
        maker = RowTasks(self.definition, pictures)
        yield from tasks(read_records(path, FORMAT, (question,)), maker.make)

    def gold_answer(self, task: Task) -> str:
        return (task.gold or {}).get("answer", "")

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        if self.definition.judge:
            return score_votes(self.definition.judge, result.answer, result.votes)
        return self._scorer.score(task, result) if self._scorer else ()

    @property
    def asks_judge(self) -> bool:
        return self.definition.judge is not None

    def judge_prompt(self, task: Task, answer: str) -> str | None:
        return write_prompt(self.definition.judge, task, answer) if self.definition.judge else None

    def remind_judge(self, prompt: str, vote: Completion) -> str | None:
        judge = self.definition.judge
        return write_reminder(judge, prompt) if judge and may_ask_again(judge, vote) else None

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
        return self._scorer.baselines(tasks) if self._scorer else {}

    def is_right(self, task: Task, answer: str | None) -> bool:
        """Whether the main metric accepts the answer; without a scorer, whether it has the text of the gold answer."""
        if self._scorer is None:
            return super().is_right(task, answer)
        scores = self.score(task, EpisodeResult(answer))
        return bool(scores) and scores[0].value == 1.0
