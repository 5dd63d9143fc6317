"""How often the episodes of a job ended in which way, each with an episode as an example of a failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queries.examples import ExampleEpisode, find_ending_example, find_wrong_example
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
    message: str = ""  #: of the example, the most frequent one of this ending
    messages: int = 0  #: number of different messages of this ending, as far as the report lists them
    answer: str = ""  #: of the example
    gold: str = ""  #: the answer that was expected of it


def find_ending_examples(connection: Connection, job: StoredJob, report: JobReport) -> list[EndingExample]:
    """Return the endings of the job with this report: answers first, then the most frequent."""
    counts = report.episodes.endings if report.episodes else {}
    endings = sorted(counts, key=lambda ending: (ending != Ending.ANSWERED, -counts[ending], ending))
    return [_describe(connection, job, report, ending, counts[ending]) for ending in endings]


def _describe(connection: Connection, job: StoredJob, report: JobReport, ending: str, episodes: int) -> EndingExample:
    if ending == Ending.ANSWERED:
        scores, example = report.scores, None
        if job.kind == JobKind.EVALUATE and scores is not None and scores.correct != report.n:
            example = find_wrong_example(connection, job.id, scores.metric)
        return _with(job, ending, episodes, example)
    problems = report.episodes.problems if report.episodes else ()
    messages = [problem.message for problem in problems if problem.ending == ending]
    example = find_ending_example(connection, job.id, ending, messages[0] if messages else None)
    return _with(job, ending, episodes, example, messages)


def _with(
    job: StoredJob, ending: str, episodes: int, example: ExampleEpisode | None, messages: Sequence[str] = ()
) -> EndingExample:
    if example is None:
        return EndingExample(ending, episodes)
    return EndingExample(
        ending,
        episodes,
        f"{job.id}-{example.ordinal}",
        example.message,
        len(messages),
        example.answer or "",
        gold_text(example.gold),
    )
