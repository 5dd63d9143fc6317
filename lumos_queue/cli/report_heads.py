"""The heads of the jobs' columns where jobs are shown side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumos_queue.cli import output
from lumos_queue.cli.text_columns import truncate
from lumos_queue.reports.differences import describe_differences

_LINES = 4  #: lines about differences, above a job's id
_NAMES = 38  #: terminal cells of a report's first column, which has the names of its rows
_LEAST, _MOST = 10, 24  #: terminal cells of a line


def head_columns(reports: Sequence[dict[str, Any]], width: int) -> tuple[list[str], str]:
    """Return the head of each job's column, and the jobs' common formulation, or '' if it is in the heads or differs.

    A head has the differences between these jobs, the most important first, then the job's id. If there are none, or
    only one job, it has name and formulation instead. `width`: of the terminal, in cells.
    """
    names = dict.fromkeys(name for report in reports for name in report.get("differs", {}))
    # `differs` is about all jobs of the command, not only about these. The code has its own row.
    differing_names = {
        name for name in names if name != "code" and len({report["differs"].get(name) for report in reports}) > 1
    }
    cells = min(_MOST, max(_LEAST, (width - _NAMES) // len(reports) - 3))
    heads = []
    for report in reports:
        lines = describe_differences(
            {name: report["differs"][name] for name in report.get("differs", {}) if name in differing_names}
        )
        if not differing_names:
            lines = [*filter(None, [report.get("name")]), report["formulation"]]
        visible = [truncate(output.harmless(line), cells, middle=True) for line in lines[:_LINES]]
        heads.append("\n".join([*visible, report["job"]]))
    common_formulation = "" if not differing_names or "formulation" in differing_names else reports[0]["formulation"]
    return heads, common_formulation
