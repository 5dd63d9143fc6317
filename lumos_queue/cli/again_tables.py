"""Print the parts of a report about episodes that were adopted from another job, and about failures by class."""

from __future__ import annotations

from typing import Any

from lumos_queue.cli.output import escape
from lumos_queue.reports.task_choice import remark_on_choice


def _format_adopted(report: dict[str, Any]) -> str:
    adoption = report.get("adopted")
    return f"{adoption['episodes']:,} of {adoption['of']:,}\nfrom {adoption['from']}" if adoption else ""


def _format_adopted_calls(report: dict[str, Any]) -> str:
    """Return the number of model calls that the other job made for the adopted episodes."""
    return f"{report['adopted']['calls']:,}" if "adopted" in report else ""


def _format_adopted_tokens(report: dict[str, Any]) -> str:
    """Return the numbers of prompt tokens and reply tokens of the adopted episodes."""
    tokens = report.get("adopted", {}).get("tokens")
    return f"{tokens['prompt']:,} / {tokens['completion']:,}" if tokens else ""


#: Rows of a table of reports: the name, and the function that formats a report's cell.
ADOPTED_ROWS = (
    ("adopted", _format_adopted),
    ("  their calls", _format_adopted_calls),
    ("  their tokens in / out", _format_adopted_tokens),
)


def print_again(console: Any, report: dict[str, Any]) -> None:
    """Print a remark if the job's tasks were chosen by outcomes, and for each class of failures how to continue."""
    where = report.get("chosen", {}).get("where", "")
    if remark := remark_on_choice(report.get("parent"), where, report["benchmark"]):
        console.print(f"{report['job']}: {escape(remark)}", soft_wrap=True)
    for failure in report.get("failures", ()):
        console.print(f"  {report['job']}: {failure['items']:,} {failure['class']}: {failure['go_on']}", soft_wrap=True)
