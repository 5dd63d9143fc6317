"""Choose the failures for a page: a few that differ from each other, and the same each time.

The class of a failure is a verdict, an ending, the kind of an action's error, or "wrong although every action worked".
The classes take turns, the commonest first, and so do the jobs within a class. On a page of several jobs, tasks that
another job got right come first. Within a job the failures are ordered by a digest of the task, so that the first rows
of a file are not preferred.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import zip_longest

from db.queries.outcomes import FailedEpisode
from db.queue.stored_jobs import StoredJob
from lumos_queue.records import Ending

CHOSEN = 10
#: The right episodes by job: the number of the episode in the job, by (task, sample).
Right = Mapping[str, Mapping[tuple[int, int], int]]
_RankedFailure = tuple[tuple[bool, str], FailedEpisode]
HOW = (
    "Chosen by rule, not by hand. Failures are put into classes: an ending without an answer, a kind of error of an "
    "action, a verdict, or an answer that is wrong although every action worked. The classes take turns, the commonest "
    "first{others}; otherwise tasks come in the order of a digest of their row. Failures of infrastructure are left "
    "out."
)
OTHERS = ", and in each those tasks that another of these jobs got right"


@dataclass(frozen=True, slots=True)
class Choice:
    """A failure that was chosen for the page."""

    job: StoredJob
    failed: FailedEpisode
    failure: str  #: its class, as text
    size: int  #: failures of that class, over all jobs
    right: tuple[StoredJob, int] | None  #: another job that got the task right, and the episode's number in it


def classify(failure: FailedEpisode) -> str:
    """Return the class of a failure as text."""
    if failure.verdict:
        return f"rejected: {failure.verdict}"
    if failure.ending != Ending.ANSWERED:
        return f"ended: {failure.ending.replace('_', ' ')}"
    if failure.error:
        return f"wrong after an action failed: {failure.error.replace('_', ' ')}"
    return "wrong although every action worked"


def choose(
    jobs: Sequence[StoredJob], failures: Mapping[str, Iterable[FailedEpisode]], right: Right, max_count: int = CHOSEN
) -> list[Choice]:
    """Return at most `max_count` failures of jobs. A task is repeated only if no other task remains.

    `failures` has the failures of each job by its id, and `right` the right episodes of each job by its id.
    """
    sizes: Counter[str] = Counter()
    by_class: dict[str, dict[str, list[_RankedFailure]]] = {}  # class, job
    for job in jobs:
        for failure in failures.get(job.id, ()):
            name = classify(failure)
            sizes[name] += 1
            ranking = by_class.setdefault(name, {}).setdefault(job.id, [])
            ranking.append(((not _right_jobs(job.id, failure, right), _order(failure)), failure))
            if len(ranking) > 50 * max_count:
                ranking[:] = nsmallest(max_count, ranking, key=_rank)
    turns = [list(_in_turn(by_class[name])) for name in sorted(sizes, key=lambda name: (-sizes[name], name))]
    candidates = [candidate for several in zip_longest(*turns) for candidate in several if candidate is not None]
    first: dict[tuple[int, int], tuple[str, FailedEpisode]] = {}
    for job, failure in candidates:
        first.setdefault((failure.task, failure.sample), (job, failure))
    selection = list(first.values())[:max_count]
    selection += [candidate for candidate in candidates if candidate not in selection][: max_count - len(selection)]
    rows = {job.id: job for job in jobs}
    return [_describe(rows, job, failure, sizes, right) for job, failure in selection]


def _in_turn(of_jobs: Mapping[str, list[_RankedFailure]]) -> Iterator[tuple[str, FailedEpisode]]:
    """Yield (job, failure) for a class: the jobs take turns, and tasks that another job got right come first."""
    rankings = {job: sorted(several, key=_rank) for job, several in of_jobs.items()}
    turns = [
        (rank[0], position, number, job, failure)
        for number, (job, several) in enumerate(rankings.items())
        for position, (rank, failure) in enumerate(several)
    ]
    for _, _, _, job, failure in sorted(turns, key=lambda turn: turn[:3]):
        yield job, failure


def _describe(
    rows: Mapping[str, StoredJob], job: str, failure: FailedEpisode, sizes: Mapping[str, int], right: Right
) -> Choice:
    name = classify(failure)
    right_episodes = [
        (rows[right_job], right[right_job][failure.task, failure.sample])
        for right_job in _right_jobs(job, failure, right)
    ]
    return Choice(rows[job], failure, name, sizes[name], right_episodes[0] if right_episodes else None)


def _right_jobs(job: str, failure: FailedEpisode, right: Right) -> list[str]:
    """Return the ids of the other jobs that got the task right."""
    return [
        right_job
        for right_job, right_episodes in right.items()
        if right_job != job and (failure.task, failure.sample) in right_episodes
    ]


def _rank(failure: _RankedFailure) -> tuple[bool, str]:
    return failure[0]


def _order(failure: FailedEpisode) -> str:
    return hashlib.sha256(f"{failure.row}\n{failure.sample}".encode()).hexdigest()


def describe_choice(several: bool) -> str:
    """Return the text that explains how failures were chosen."""
    return HOW.format(others=OTHERS if several else "")
