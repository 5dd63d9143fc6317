"""InterCode's SQL tasks, from the published `ic_spider_dev.json`; an invented row:

    {"db": "shop", "gold": "SELECT name FROM hat ORDER BY price LIMIT 1", "query": "Which hat is cheapest?",
     "hardness": "medium", "db_tables": {"hat": ["name", "price"]}}

`intercode_reward` is InterCode's own reward; a negative reward, which reversed rows have, counts 0. `success` counts
the episodes whose reward is exactly 1, which is the published figure. `iou_reward` is the reward without Kendall's tau,
and `iou_success` counts the episodes whose `iou_reward` is 1, as in InterCode's recorded runs. `success_order_aware`
compares the order only if the gold query sets an order. `success_nonempty` is `success` over the tasks whose gold query
has rows: for the other tasks, an empty answer is right. If an episode submits several queries, the best counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult
from lumos_queue.benchmarks.intercode_sql.gold_queries import GoldQueries, open_queries
from lumos_queue.benchmarks.intercode_sql.reward import iou_reward, order_aware_reward, original_reward
from lumos_queue.benchmarks.spider.benchmark import benchmark as spider
from lumos_queue.errors import ActionError, BadRow, SpecError
from lumos_queue.rationales.queries import is_ordered
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Annotation, Score, Task

FIELDS = ("db", "gold", "query")
FORMAT = "InterCode's ic_spider_dev.json, rows with 'db', 'gold', 'query' and 'hardness'"


class InterCodeSQL(Benchmark):
    name = "intercode_sql"
    domain = "intercode_sql"
    licence = "CC-BY-SA-4.0"
    splits = ("dev",)
    by_answer = False
    slow = True
    metrics = (
        "success",
        "success_order_aware",
        "intercode_reward",
        "success_nonempty",
        "iou_reward",
        "iou_success",
    )
    options: Mapping[str, str] = {
        "databases": "the folder of Spider's databases: needed for gold annotations, for baselines and for knowing "
        "which gold queries have no rows"
    }

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        queries = open_queries({"databases": options["databases"]}) if "databases" in options else None
        return tasks(read_records(path, FORMAT, FIELDS), partial(self._task, queries))

    def _task(self, queries: GoldQueries | None, row: int, record: Mapping[str, Any]) -> Task:
        node = RowNode(row, "", record)
        database, query = node["db"].text(), node["gold"].text(verbatim=True)
        inputs = {"database": database}
        if "hardness" in node:
            inputs["hardness"] = node["hardness"].text()
        try:
            gold: dict[str, Any] = {"answer": query, "ordered": is_ordered(query)}
        except NotConvertible:
            raise node["gold"].bad("not a query that can be read") from None
        task = Task(self.name, "", str(row), node["query"].raw_text(), inputs, gold)
        return replace(task, gold=gold | _look_up(queries, node, database, query)) if queries else task

    def gold(self, task: Task) -> Annotation:
        """Return the gold solution by Spider's rule, with the tables as the database lists them. Raises SpecError."""
        if "schema" not in task.gold:
            raise SpecError(
                "Gold annotations need the tables of the databases: give Spider's databases with --option "
                "databases=FOLDER."
            )
        try:
            return spider.gold(task)
        except NotConvertible as error:
            raise SpecError(f"no gold annotation: {error}") from None

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        gold = self._gold_rows(task, result.tools)
        row_lists = submissions(result)
        best = max((original_reward(rows, gold) for rows in row_lists), default=0.0)
        overlap = max((iou_reward(rows, gold) for rows in row_lists), default=0.0)
        order_success = max((order_aware_reward(rows, gold, task.gold["ordered"]) for rows in row_lists), default=0.0)
        success, detail = float(best == 1), "" if gold else "the gold query has no rows"
        return (
            Score("success", success, detail=detail),
            Score("success_order_aware", order_success, detail=detail),
            Score("intercode_reward", max(0.0, best), detail=detail),
            Score("success_nonempty", success if gold else 0.0, detail=detail, of=int(bool(gold))),
            Score("iou_reward", overlap, detail=detail),
            Score("iou_success", float(overlap == 1), detail=detail),
        )

    def _gold_rows(self, task: Task, tools: Mapping[str, str]) -> Sequence[Sequence[Any]]:
        try:
            return open_queries(tools).rows(task.inputs["database"], task.gold["answer"])
        except ActionError as error:
            raise SpecError(f"The gold query of task {task.row} does not run: {error}.") from None

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        """Return the verdicts of two rules: submit no rows, or all rows of the first table; {} without databases."""
        if not all("empty" in task.gold for task in tasks):
            return {}
        return {
            "an empty answer": [task.gold["empty"] for task in tasks],
            "all of the first table": [task.gold["first_table"] for task in tasks],
        }


def submissions(result: EpisodeResult) -> list[Sequence[Sequence[Any]]]:
    """Return the rows of each query that an episode submitted, in order."""
    values = [value for _, execution in result.seen if execution.ok for value in execution.values]
    return [value["rows"] for value in values if value.get("submission")]


def _look_up(queries: GoldQueries, node: RowNode, database: str, query: str) -> dict[str, Any]:
    """Return the fields of gold that need the database. Raises BadRow if the gold query does not run."""
    try:
        rows = queries.rows(database, query)
        schema = queries.schema(database)
    except ActionError as error:
        raise node["gold"].bad(f"does not run on '{database}': {error}") from None
    first = ""
    if "db_tables" in node:
        tables = node["db_tables"]
        first = next((name for name in tables.fields() if name in tables), "")
    right = False
    if first:
        try:
            right = original_reward(queries.rows(database, f"SELECT * FROM `{first}`"), rows) == 1
        except ActionError:
            right = False
    return {"schema": schema, "empty": not rows, "first_table": right}


benchmark = InterCodeSQL()
