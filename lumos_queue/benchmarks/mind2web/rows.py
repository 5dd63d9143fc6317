"""Read Mind2Web's published rows without their pages: tasks and the texts of the recorded actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Task

FIELDS = ("confirmed_task", "action_reprs")
FORMAT = "a Mind2Web file, rows with 'annotation_id', 'confirmed_task' and 'action_reprs'"


def read_rows(path: Path | None) -> Iterator[Task | BadRow]:
    """Yield the tasks of a file, without pages. Raises SpecError for a file of another format."""
    return tasks(read_records(path, FORMAT, FIELDS), row_task)


def row_task(row: int, record: Mapping[str, Any]) -> Task:
    """Return the task of a row without its pages; steps.py reads pages to test with. Raises BadRow."""
    node = RowNode(row, "", record)
    actions = node["action_reprs"].texts(raw=True)
    action_nodes = node["actions"].items() if "actions" in node else []
    ends = [item["_step_index"].whole() + 1 if "_step_index" in item else 0 for item in action_nodes]
    complete = max([len(action_nodes), *ends]) <= len(actions)
    gold = {"answer": "", "actions": actions, "complete": complete}
    inputs = {"website": node["website"].text()} if "website" in node else {}
    name = node["annotation_id"].label() if "annotation_id" in node else str(row)
    return Task("mind2web", "", name, node["confirmed_task"].raw_text(), inputs, gold)
