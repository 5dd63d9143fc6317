"""Build the dataset that a judge grades: it has a task for each item of a job, with the answer of the episode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from db.engine.connection import Database
from db.queries.judge_input import JudgedItem, items_of
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.benchmark import FileBenchmark
from lumos_queue.benchmarks.from_file.definition import PREFIX, FieldNames, FileDefinition, JudgeDefinition, make_title
from lumos_queue.benchmarks.registry import benchmark_of
from lumos_queue.execution.prefill import source_row
from lumos_queue.prompts.judged_run import STORED
from lumos_queue.records import Ending, Task
from lumos_queue.rollouts.judgeable import check_judgeable
from lumos_queue.scoring.limit import at_limit_of, select_judged_answer
from lumos_queue.submission.judge_options import SCORER
from lumos_queue.submission.store import Rows, read_rows

JUDGED = "-judged"  #: the suffix of the title of a benchmark of answers
NO_RESULT = ("", Ending.INFRA_ERROR, Ending.CANCELLED)  #: endings that are not results of the agent


def build_graded_rows(database: Database, job: StoredJob, judge: JudgeDefinition) -> tuple[Rows, FileDefinition]:
    """Return the dataset of a job's answers, and the definition of its benchmark. `job`: the job's row.

    Raises SpecError if the job has no answers, or if it has not ended.
    """
    check_judgeable(job, "answers")
    title = make_title(f"{job.benchmark.removeprefix(PREFIX).removesuffix(JUDGED)}{JUDGED}")
    definition = FileDefinition(title, FieldNames("question"), SCORER, "complex_qa", job.licence, judge)
    benchmark, at_limit = benchmark_of(job), at_limit_of(job.spec)

    def list_tasks() -> Iterator[Task]:
        for item in items_of(database, job):
            yield _make_task(definition.name, benchmark, item, at_limit)

    return read_rows(_Answers(definition, job.split, list_tasks), None, job.split, False), definition


def _make_task(name: str, benchmark: Benchmark, item: JudgedItem, at_limit: str) -> Task:
    episode, row = item.episode, source_row(item.task)
    if episode is None or episode.ending in NO_RESULT:
        stored_answer = {"answer": None, "ending": Ending.INFRA_ERROR.value}
    else:
        answer = select_judged_answer(episode.ending, episode.answer, at_limit)
        stored_answer = {"answer": answer, "ending": episode.ending if answer is None else Ending.ANSWERED.value}
    inputs = {STORED: stored_answer, "from": {"episode": item.name, "row": row}}
    return Task(name, "", f"{row}@{item.name}", item.task.question, inputs, _gold_of(benchmark, item.task))


def _gold_of(benchmark: Benchmark, task: Task) -> dict[str, Any] | None:
    """Return the right answers and the further columns of a task in the form of tasks from files."""
    if isinstance(task.gold, dict) and isinstance(benchmark, FileBenchmark):
        return {key: value for key, value in task.gold.items() if key in ("answer", "answers", "meta")} or None
    try:
        answer = benchmark.gold_answer(task)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # the benchmark does not judge answers
        return None
    return {"answer": answer} if answer else None


class _Answers(FileBenchmark):
    """A benchmark whose tasks are the answers of a job."""

    needs_data = False

    def __init__(self, definition: FileDefinition, split: str, list_tasks: Callable[[], Iterator[Task]]):
        super().__init__(definition)
        self.splits, self._list_tasks = (split,), list_tasks

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task]:
        return self._list_tasks()
