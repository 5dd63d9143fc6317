"""Describe jobs on chosen tasks of another job: whether the tasks were chosen by the outcomes of that job."""

from __future__ import annotations

from dataclasses import dataclass

from db.queries.filters import Filter, parse_where
from db.queue.stored_jobs import StoredJob

#: Fields that do not depend on outcomes: those of the request and of the rows.
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
    """Return whether a filter chooses tasks by outcomes; the mean over such tasks is not an accuracy on the benchmark.

    A model that is no better is right by chance on some tasks that the first model failed: regression to the mean.
    """
    return any(term.field not in _OF_REQUEST for term in task_filter.terms)


@dataclass(frozen=True, slots=True)
class TaskChoice:
    """The filter that chose the tasks of a job among those of its parent."""

    where: str
    by_outcome: bool


def describe_choice(job: StoredJob) -> TaskChoice | None:
    """Return the filter that chose the tasks of a job; None without a filter."""
    return TaskChoice(job.chosen, is_by_outcome(parse_where(job.chosen))) if job.chosen else None


def remark_on_choice(parent: str | None, query: str, benchmark: str) -> str:
    """Return a line on a job whose tasks were chosen by the outcomes of its parent; otherwise ''."""
    if not query or not is_by_outcome(parse_where(query)):
        return ""
    return f"its tasks were chosen by outcomes of job {parent} ({query}): its mean is not an accuracy on {benchmark}"
