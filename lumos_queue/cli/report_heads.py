"""What stands above a job's column where jobs are shown side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumos_queue.cli import output
from lumos_queue.cli.text_columns import cut
from lumos_queue.reports.differences import describe_differences

_LINES = 4  #: of what differs, above a job's id
_NAMES = 38  #: cells of a report's first column, which names its rows
_LEAST, _MOST = 10, 24  #: cells of a line


def head_columns(reports: Sequence[dict[str, Any]], width: int) -> tuple[list[str], str]:
    """The lines above each job's column, and the formulation, where all have the same one and no head names it.

    What differs between these jobs, the most telling first, then the job's id. A job alone, and jobs that do not
    differ, are headed by their formulation. `width`: cells of the terminal.
    """
    names = dict.fromkeys(name for report in reports for name in report.get("differs", {}))
    # What differs was looked for among all jobs of the command; and the code has a row of its own.
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
        visible = [cut(output.harmless(line), cells, middle=True) for line in lines[:_LINES]]
        heads.append("\n".join([*visible, report["job"]]))
    common_formulation = "" if not differing_names or "formulation" in differing_names else reports[0]["formulation"]
    return heads, common_formulation
