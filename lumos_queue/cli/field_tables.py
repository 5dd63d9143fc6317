"""Print the scores of a job by fields of the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from db.queries.task_fields import shorten
from lumos_queue.cli.group_tables import format_score, new_table
from lumos_queue.cli.output import escape
from lumos_queue.cli.text_columns import truncate
from lumos_queue.reports.field_groups import name_group
from lumos_queue.reports.tool_rules import label_metric

_METRICS = 2  #: metrics that are shown for each group, as a terminal has 80 columns; --json has all
_CELL, _COUNT = 22, 10  #: terminal cells of a score and of a number, each with the space before it
_LEAST = 12  #: minimum terminal cells of a group's name


def print_fields(console: Any, report: Mapping[str, Any]) -> None:
    """Print a table of scores for each requested field of the tasks."""
    for field, groups in report.get("by", {}).items():
        table = new_table(f"scores of {report['job']} by {escape(shorten(field))}, per cent [95 %]")
        table.add_column("items", justify="right")
        metrics = list(report.get("metrics", {}))[:_METRICS]
        for metric in metrics:
            table.add_column(escape(label_metric(report, metric)), justify="right")
        room = max(_LEAST, console.width - _COUNT - _CELL * len(metrics))
        for group in groups:
            name = name_group(group["kind"], group.get("value"), group.get("values"))
            scores = [format_score(group["metrics"].get(metric)) for metric in metrics]
            table.add_row(escape(truncate(name, room)), f"{group['n']:,}", *scores)
        console.print(table)
