"""Jobs on chosen tasks of another job: whether the choice went by what its models did."""

from __future__ import annotations

from typing import Any

from db.filters import Filter, parse_where

#: Fields that say nothing of what the models of a job did: what it was asked, and on which rows.
_OF_REQUEST = frozenset(
    (
        "job",
        "name",
        "tag",
        "kind",
        "benchmark",
        "project",
        "model",
        "split",
        "formulation",
        "origin",
        "licence",
        "sample",
        "meta",
    )
)


def is_by_outcome(task_filter: Filter) -> bool:
    """Whether a filter chooses by what the models did: the mean over such tasks is no accuracy of the benchmark.

    By chance alone, a model that is no better is right on some tasks where another was wrong: regression to the mean.
    """
    return any(term.field not in _OF_REQUEST for term in task_filter.terms)


def describe_chosen(job: Any) -> dict[str, Any]:
    """`parent` and `chosen` of a job's row, as reports have them; empty for a job that stands for itself."""
    choice: dict[str, Any] = {"parent": job.parent} if job.parent else {}
    if job.chosen:
        choice["chosen"] = {"where": job.chosen, "by_outcome": is_by_outcome(parse_where(job.chosen))}
    return choice


def remark_on_chosen(parent: str | None, query: str, benchmark: str) -> str:
    """One line for a job whose tasks were chosen by what its parent did with them; else empty."""
    if not query or not is_by_outcome(parse_where(query)):
        return ""
    return f"its tasks were chosen by what job {parent} did with them ({query}): its mean is no accuracy of {benchmark}"
