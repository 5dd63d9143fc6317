"""Remarks on the figures of a conversion, one line each."""

from __future__ import annotations

from collections.abc import Sequence

from db.queue.stored_jobs import StoredJob
from lumos_queue.reports.conversion_filters import FilterVerdicts

MIN_SHARE = 0.05  #: the share of overlong rows from which on there is a remark


def remarks(job: StoredJob, judged_rows: int, verdicts: Sequence[FilterVerdicts]) -> list[str]:
    """Return the remarks; `judged_rows` is the number of judged rows, `verdicts` are the report's counts by filter."""
    rows = max((verdict.most for verdict in verdicts if verdict.name == "overlong"), default=0)
    if not rows or rows < MIN_SHARE * judged_rows:
        return []
    return [
        f"{rows:,} of {judged_rows:,} rows are overlong: a training conversation may have {job.spec['most_tokens']:,} "
        "tokens. Convert again with --longest to allow more."
    ]
