"""Which failures a page shows: few, and unlike each other, the same ones each time.

Failures are put into classes: by ending, by the kind of an action's error, by a verdict, and answers that are wrong
although every action worked. Where several jobs are shown, tasks that another job got right come first. The classes
take turns, the commonest first, jobs in turn within them; within a class the order is that of a digest of the task, so
that neither the first rows of a file nor one job are preferred.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import zip_longest
from typing import Any

from db.outcomes import FailedEpisode

CHOSEN = 10
#: Job to (task, sample) to place in the job, of its right episodes.
Right = Mapping[str, Mapping[tuple[int, int], int]]
_Ranked = tuple[tuple[bool, str], FailedEpisode]
HOW = (
    "Chosen by rule, not by hand. Failures are put into classes: an ending without an answer, a kind of error of an "
    "action, a verdict, or an answer that is wrong although every action worked. The classes take turns, the commonest "
    "first{others}; otherwise tasks come in the order of a digest of their row. What infrastructure ended is left out."
)
OTHERS = ", and in each those tasks that another of these jobs got right"


@dataclass(frozen=True, slots=True)
class Choice:
    """A failure that is shown."""

    job: Any  #: its row
    failed: FailedEpisode
    failure: str  #: its class, in words
    size: int  #: failures of that class, over all jobs
    right: tuple[Any, int] | None  #: another job (its row) that got the task right, and the place there


def classify(failed: FailedEpisode) -> str:
    """The class of a failure, in words."""
    if failed.verdict:
        return f"rejected: {failed.verdict}"
    if failed.ending != "answered":
        return f"ended: {failed.ending.replace('_', ' ')}"
    if failed.error:
        return f"wrong after an action failed: {failed.error.replace('_', ' ')}"
    return "wrong although every action worked"


def choose(
    jobs: Sequence[Any], failures: Mapping[str, Iterable[FailedEpisode]], right: Right, most: int = CHOSEN
) -> list[Choice]:
    """At most so many failures of these jobs (their rows), no task twice unless nothing else is left.

    `failures`: by job; `right`: the episodes that were right, by job.
    """
    sizes: Counter[str] = Counter()
    kept: dict[str, dict[str, list[_Ranked]]] = {}  # class, job
    for job in jobs:
        for one in failures.get(job.id, ()):
            name = classify(one)
            sizes[name] += 1
            ranked = kept.setdefault(name, {}).setdefault(job.id, [])
            ranked.append(((not _right_jobs(job.id, one, right), _order(one)), one))
            if len(ranked) > 50 * most:
                ranked[:] = nsmallest(most, ranked, key=_rank)
    turns = [list(_in_turn(kept[name])) for name in sorted(sizes, key=lambda name: (-sizes[name], name))]
    offered = [one for several in zip_longest(*turns) for one in several if one is not None]
    first: dict[tuple[int, int], tuple[str, FailedEpisode]] = {}
    for job, failed in offered:
        first.setdefault((failed.task, failed.sample), (job, failed))
    chosen = list(first.values())[:most]
    chosen += [one for one in offered if one not in chosen][: most - len(chosen)]
    rows = {job.id: job for job in jobs}
    return [_describe(rows, job, failed, sizes, right) for job, failed in chosen]


def _in_turn(of_jobs: Mapping[str, list[_Ranked]]) -> Iterator[tuple[str, FailedEpisode]]:
    """The failures of a class: first those of tasks that another job got right, and jobs in turn."""
    ranked = {job: sorted(several, key=_rank) for job, several in of_jobs.items()}
    turns = [
        (rank[0], place, number, job, failed)
        for number, (job, several) in enumerate(ranked.items())
        for place, (rank, failed) in enumerate(several)
    ]
    for _, _, _, job, failed in sorted(turns, key=lambda turn: turn[:3]):
        yield job, failed


def _describe(
    rows: Mapping[str, Any], job: str, failed: FailedEpisode, sizes: Mapping[str, int], right: Right
) -> Choice:
    name = classify(failed)
    others = [(rows[other], right[other][failed.task, failed.sample]) for other in _right_jobs(job, failed, right)]
    return Choice(rows[job], failed, name, sizes[name], others[0] if others else None)


def _right_jobs(job: str, failed: FailedEpisode, right: Right) -> list[str]:
    """The other jobs that got the task right."""
    return [other for other, theirs in right.items() if other != job and (failed.task, failed.sample) in theirs]


def _rank(ranked: _Ranked) -> tuple[bool, str]:
    return ranked[0]


def _order(failed: FailedEpisode) -> str:
    return hashlib.sha256(f"{failed.row}\n{failed.sample}".encode()).hexdigest()


def tell_how(several: bool) -> str:
    """How failures were chosen, in words."""
    return HOW.format(others=OTHERS if several else "")
