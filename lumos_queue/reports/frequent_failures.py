"""The most frequent failures of a job, each with an episode as an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queries.examples import find_ending_example, find_wrong_example
from db.queries.outcomes import NO_FAILURES
from db.queue.stored_jobs import StoredJob
from lumos_queue.reports.trajectory import gold_text

MAX_FAILURES = 3  #: of a job


@dataclass(frozen=True, slots=True)
class FrequentFailure:
    """Episodes of a job that failed in the same way."""

    episodes: int
    ending: str  #: '' for episodes with a wrong answer, and for those with an empty reply
    message: str  #: '' for a wrong answer, and for an ending without a message
    example: str = ""  #: the name of the first such episode, `k3f9a2cd-17`; '' if there is none
    answer: str = ""  #: of the example with a wrong answer
    gold: str = ""  #: the answer that was expected


def find_frequent_failures(connection: Connection, job: StoredJob, report: Mapping[str, Any]) -> list[FrequentFailure]:
    """Return what failed most often in the job with this report, the most frequent first."""
    problems = sorted(report.get("problems", ()), key=lambda problem: -problem["episodes"])[:MAX_FAILURES]
    failures = [
        FrequentFailure(problem["episodes"], problem["ending"], problem["message"], _example(connection, job, problem))
        for problem in problems
    ]
    wrong = _count_wrong(report) if job.kind == JobKind.EVALUATE else 0
    if wrong and (example := find_wrong_example(connection, job.id, report["metric"])):
        name, answer = f"{job.id}-{example.ordinal}", example.answer or ""
        failures.append(FrequentFailure(wrong, "", "", name, answer, gold_text(example.gold)))
    return sorted(failures, key=lambda failure: -failure.episodes)[:MAX_FAILURES]


def _example(connection: Connection, job: StoredJob, problem: Mapping[str, Any]) -> str:
    """Return the name of the first episode with this problem; '' if it is not about an ending."""
    example = (
        find_ending_example(connection, job.id, problem["ending"], problem["message"]) if problem["ending"] else None
    )
    return f"{job.id}-{example.ordinal}" if example else ""


def _count_wrong(report: Mapping[str, Any]) -> int:
    """Return how many judged episodes are not right; 0 for scores that are not 0 or 1."""
    if "correct" not in report:
        return 0
    return report["finished"] - sum(report["endings"].get(ending, 0) for ending in NO_FAILURES) - report["correct"]
