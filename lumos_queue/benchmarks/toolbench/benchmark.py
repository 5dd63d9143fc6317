"""ToolBench: questions that are answered by calling documented APIs. rows.py describes the format.

The tools of a task are the APIs that its row lists (`--option tools=oracle`, the default), or the K APIs that fit the
question best (`tools=retrieved:K`). These are retrieved from all listed APIs of the file, or of a folder's six files.

Only judges can decide whether an answer is right. The two metrics need no judge: `answered` is 1 if there is an
answer, from Finish or from a solver; `relevant_apis` is the share of the row's relevant APIs that were called with
success. A high value does not mean that the answer is right, and a good answer may need fewer APIs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lumos_queue.actions.tools.task_functions import functions_of_task
from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.toolbench.retrieval import Pool
from lumos_queue.benchmarks.toolbench.rows import FILES, file_of, files_of, query_rows, query_task, read_listed_apis
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Score, Task

ORACLE, RETRIEVED = "oracle", "retrieved"
OPTIONS = {"tools": "'oracle' (default): the APIs that a row lists; 'retrieved:K': the K listed APIs that fit it best"}
MAX_RETRIEVED = 100
#: Split to the number of its queries in StableToolBench.
PUBLISHED = {"I1-inst": 163, "I1-tool": 158, "I1-cat": 153, "I2-inst": 106, "I2-cat": 124, "I3-inst": 61}


class ToolBench(Benchmark):
    name = "toolbench"
    domain = "tools"
    licence = "Apache-2.0"
    test_splits = tuple(FILES)
    splits = (*test_splits, "train")  # a file of other queries in the same format, as ToolBench's training data
    by_answer = False
    metrics = ("answered", "relevant_apis")
    options = OPTIONS

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        """Yield the tasks of a file. Of a folder, read the split's file, or all files for 'test' (builds --against)."""
        count = _read_tools(options.get("tools", ORACLE))
        self.notes, row_count = [], 0
        pool = Pool(read_listed_apis(path)) if count and path else None
        to_task = partial(_retrieve, pool, count) if pool else _oracle
        for file in files_of(path) if path and split == "test" else [file_of(path, split)]:
            for item in tasks(query_rows(file), to_task):
                row_count += isinstance(item, Task)
                yield item
        has = f"; StableToolBench has {PUBLISHED[split]:,} of {split}" if split in PUBLISHED else ""
        self.notes = [f"{row_count:,} rows{has}"]
        if pool:
            self.notes.append(f"each row has the {count:,} of {len(pool.apis):,} APIs whose words fit its query best")

    def gold_answer(self, task: Task) -> str:
        """Return the names of the relevant APIs, because no row states an answer."""
        return "; ".join(f"{tool}: {api}" for tool, api in task.gold["relevant"])

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Return `answered`, and `relevant_apis` if the row names relevant APIs."""
        final_answers = [execution.result for _, execution in result.seen if execution.ends]
        has_answer = float(any(answer.strip() for answer in (*final_answers, result.answer or "")))
        relevant = {tuple(pair) for pair in task.gold["relevant"]}
        if not relevant:
            return (Score("answered", has_answer),)
        functions = functions_of_task(task)
        used_functions = [
            functions[action.name] for action, execution in result.seen if execution.ok and action.name in functions
        ]
        called_apis = relevant & {(function.tool, function.api) for function in used_functions}
        detail = f"{len(called_apis)} of {len(relevant)}"
        return (
            Score("answered", has_answer),
            Score("relevant_apis", len(called_apis) / len(relevant), detail=detail, of=len(relevant)),
        )


def _read_tools(option: str) -> int:
    """Return K if the option is `retrieved:K`, and 0 if it is `oracle`. Raises SpecError for any other text."""
    if option == ORACLE:
        return 0
    kind, _, number = option.partition(":")
    if kind == RETRIEVED and number.isascii() and number.isdecimal() and 0 < int(number[:9]) <= MAX_RETRIEVED:
        return int(number)
    expectation = f"{ORACLE}, or {RETRIEVED}:K with K from 1 to {MAX_RETRIEVED}"
    raise SpecError(f"--option tools={option[:40]} cannot be read: expected {expectation}.")


def _oracle(row: int, record: Mapping[str, Any]) -> Task:
    task = query_task(row, record)
    if task.inputs["functions"] is None:
        raise BadRow(row, "api_list", f"missing: read such rows with --option tools={RETRIEVED}:K")
    return task


def _retrieve(pool: Pool, count: int, row: int, record: Mapping[str, Any]) -> Task:
    task = query_task(row, record)
    functions = [dict(api) for api in pool.best(task.question, count)]
    return replace(task, inputs={"functions": functions, "retrieved": count})


benchmark = ToolBench()
