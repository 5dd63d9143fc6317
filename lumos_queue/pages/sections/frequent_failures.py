"""The table of the most frequent failures of jobs, with an episode as an example of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Table
from lumos_queue.pages.limits import shorten
from lumos_queue.pages.material import JobMaterial
from lumos_queue.reports.frequent_failures import FrequentFailure
from lumos_queue.util.wording import MISSING, format_count

MAX_ROWS, MAX_ROWS_OF_SEVERAL = 3, 2  #: failures of the only job, and of each of several jobs
MAX_MESSAGE, MAX_ANSWER = 160, 40  #: characters of a message, and of an answer


def tabulate_failures(jobs: Sequence[JobMaterial]) -> Iterator[Table]:
    """Yield a table of the failures, with the job of each on a page of several jobs; none without failures."""
    rows = [
        [
            *([job.id] if len(jobs) > 1 else []),
            _describe(failure),
            format_count(failure.episodes, job.report["n"]),
            failure.example or MISSING,
        ]
        for job in jobs
        for failure in job.frequent_failures[: MAX_ROWS if len(jobs) == 1 else MAX_ROWS_OF_SEVERAL]
    ]
    if rows:
        heads = [*(["job"] if len(jobs) > 1 else []), "failure", "episodes", "example"]
        last = len(heads) - 1
        texts = frozenset({0, last - 2, last})
        note = "Look at an example: lumos show EPISODE"
        yield Table("Most frequent failures", heads, rows, note, texts, ranks=[0] * len(heads))


def _describe(failure: FrequentFailure) -> str:
    if failure.ending or failure.message:
        return ": ".join(filter(None, (failure.ending, shorten(failure.message, MAX_MESSAGE))))
    answer, gold = (" ".join(shorten(text, MAX_ANSWER).split()) or MISSING for text in (failure.answer, failure.gold))
    return f"not right: answer {answer}, expected {gold}"
