"""How often the episodes of a job ended in which way, each with an episode as an example of a failure."""

from __future__ import annotations

from dataclasses import dataclass

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queries.examples import find_ending_example, find_wrong_example
from db.queue.stored_jobs import StoredJob
from lumos_queue.records import Ending
from lumos_queue.reports.job_report import JobReport
from lumos_queue.reports.trajectory import gold_text


@dataclass(frozen=True, slots=True)
class EndingExample:
    """The episodes of a job that ended in the same way."""

    ending: str
    episodes: int
    example: str = ""  #: the name of an episode that failed, `k3f9a2cd-17`; '' if none did
    message: str = ""  #: of the example; the most frequent one of this ending, if it is one of the report's problems
    has_others: bool = False  #: whether episodes with this ending have other messages
    answer: str = ""  #: of the example
    gold: str = ""  #: the answer that was expected of it


def find_ending_examples(connection: Connection, job: StoredJob, report: JobReport) -> list[EndingExample]:
    """Return the endings of the job with this report: answers first, then the most frequent."""
    counts = report.episodes.endings if report.episodes else {}
    endings = sorted(counts, key=lambda ending: (ending != Ending.ANSWERED, -counts[ending], ending))
    return [_describe(connection, job, report, ending, counts[ending]) for ending in endings]


def _describe(connection: Connection, job: StoredJob, report: JobReport, ending: str, episodes: int) -> EndingExample:
    metric = report.scores.metric if report.scores and job.kind == JobKind.EVALUATE else ""
    problems = [problem for problem in report.episodes.problems if problem.ending == ending] if report.episodes else []
    if ending == Ending.ANSWERED:
        has_wrong = bool(metric) and report.scores is not None and report.scores.wrong != 0
        example = find_wrong_example(connection, job.id, metric) if has_wrong else None
    else:
        message = problems[0].message if problems else None
        example = find_ending_example(connection, job.id, ending, message, metric)
    if example is None:
        return EndingExample(ending, episodes)
    return EndingExample(
        ending,
        episodes,
        f"{job.id}-{example.ordinal}",
        example.message,
        ending != Ending.ANSWERED and (len(problems) != 1 or problems[0].episodes < episodes),
        example.answer or "",
        gold_text(example.gold),
    )
