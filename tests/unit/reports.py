"""Reports of jobs, made of values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lumos_queue.reports.completeness import Completeness
from lumos_queue.reports.job_report import JobReport


def empty_report(**parts: Any) -> JobReport:
    """The report of a complete evaluation without items, with these parts."""
    report = JobReport(
        job="abcdefgh",
        kind="evaluate",
        state="done",
        waiting="",
        benchmark="b",
        split="test",
        formulation="iterative",
        n=0,
        finished=0,
        items={},
        seconds=None,
        code_version="1",
        plugins=[],
        seed=0,
        completeness=Completeness(complete=True),
    )
    return replace(report, **parts)
