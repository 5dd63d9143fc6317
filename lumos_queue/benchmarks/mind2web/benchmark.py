"""Mind2Web: tasks on recorded web pages, from the published lists or files of the same form; an invented row:

    {"annotation_id": "1a", "website": "acme", "confirmed_task": "Find a hat", "action_reprs": ["[a]  Hats -> CLICK"],
     "actions": [{"cleaned_html": "<html …", "operation": {"op": "CLICK", "value": ""},
                  "pos_candidates": [{"tag": "a", "attributes": "{…}", "backend_node_id": "7"}],
                  "neg_candidates": […]}]}

Some files contain only samples of the steps. There, `_step_index` is the index of an action's step in the trajectory.
Such samples also exist as prompts (prompts.py).

An agent sees a page as a list of its candidates, in document order because files list the right candidates first. The
candidates' descriptions have MindAct's form. Reading a file writes them: so the digest of the rows covers the text that
is matched, and no worker reads untrusted HTML. Gold has the right candidates and the right operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, RowReader
from lumos_queue.benchmarks.mind2web.prompts import INSTANCES, prompt_rows
from lumos_queue.benchmarks.mind2web.rationale import annotate, describe
from lumos_queue.benchmarks.mind2web.rows import read_rows, row_task
from lumos_queue.benchmarks.mind2web.scores import METRICS, click_at, step_scores
from lumos_queue.benchmarks.mind2web.steps import CandidateCounts, read_steps
from lumos_queue.errors import BadRow
from lumos_queue.readers.documents import read_object
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Annotation, Level, Score, Task

FORMAT = "a Mind2Web file with pages: rows with 'confirmed_task' and 'actions', which hold candidates"


class Mind2Web(Benchmark):
    name = "mind2web"
    domain = "web_agent"
    licence = "CC-BY-4.0"
    splits = ("train", "test_task", "test_website", "test_domain")
    test_splits = splits[1:]
    by_answer = False
    metrics = METRICS
    check_level = Level.FORMAT
    teacher_prompt = "web"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        document = read_object(path, FORMAT, lambda record: INSTANCES not in record)
        rows = read_records(path, FORMAT, ("actions",)) if document is None else prompt_rows(path, document, FORMAT)
        self.notes = []
        totals, candidate_counts = [0, 0, 0], CandidateCounts()
        for item in tasks(rows, partial(self._task, candidate_counts)):
            if isinstance(item, Task):
                counts = (1, len(item.gold["steps"]), item.gold["whole"])
                totals = [total + count for total, count in zip(totals, counts, strict=True)]
            yield item
        self.notes = [f"{totals[1]:,} steps of {totals[0]:,} tasks; {totals[2]:,} tasks are recorded whole"]
        if missing_count := candidate_counts.candidates - candidate_counts.on_page:
            self.notes.append(
                f"{missing_count:,} of {candidate_counts.candidates:,} candidates are described by their own "
                "attributes alone: their pages are cut off before them, or nested too deep to be read"
            )

    def _task(self, candidate_counts: CandidateCounts, row: int, record: Mapping[str, Any]) -> Task:
        task = row_task(row, record)
        numbers, pages, gold = read_steps(RowNode(row, "", record), candidate_counts)
        action_texts = task.gold["actions"]
        if numbers[-1] > len(action_texts):
            problem = f"{len(action_texts)} texts, but step {numbers[-1]} has as many before it"
            raise BadRow(row, "action_reprs", problem)
        inputs = {**task.inputs, "previous": action_texts[: numbers[-1]], "steps": pages}
        whole = numbers == list(range(len(action_texts)))
        return Task(self.name, "", task.row, task.question, inputs, {**task.gold, "steps": gold, "whole": whole})

    @property
    def teaching(self) -> RowReader:
        """The reader of rows without their pages, because a rationale only needs the recorded actions."""
        return RowReader(("train", "dev", "test"), {}, self._without_pages)

    def _without_pages(self, path: Path | None, split: str) -> Iterator[Task | BadRow]:
        self.notes = []  # notes of `read` are about pages
        return read_rows(path)

    def gold(self, task: Task) -> Annotation:
        return annotate(task)

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        return step_scores(task, result)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        """Return the verdicts of two rules, to click the first or the last element: a verdict for each step."""
        return {
            "click the first element": [right for task in tasks for right in click_at(task, 0)],
            "click the last element": [right for task in tasks for right in click_at(task, -1)],
        }

    def rationale(self, task: Task) -> str:
        return describe(task)


benchmark = Mind2Web()
