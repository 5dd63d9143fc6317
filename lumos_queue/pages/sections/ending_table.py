"""The table of how the episodes of jobs ended, with an example of the failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Table, Text
from lumos_queue.pages.limits import shorten
from lumos_queue.pages.material import JobMaterial
from lumos_queue.pages.sections.provenance import format_reply_endings
from lumos_queue.records import Ending
from lumos_queue.reports.ending_examples import EndingExample
from lumos_queue.scoring.limit import AtLimit
from lumos_queue.util.wording import MISSING, format_count

MAX_MESSAGE, MAX_ANSWER = 160, 40  #: characters of a message, and of an answer


def tabulate_endings(jobs: Sequence[JobMaterial]) -> Iterator[Table]:
    """Yield a table with a row for each ending of each job; none without ended episodes."""
    names = list(dict.fromkeys([Ending.ANSWERED, *(ending.ending for job in jobs for ending in job.endings)]))
    endings = [(ending, job) for job in jobs for ending in job.endings]
    endings.sort(key=lambda pair: names.index(pair[0].ending))
    several = len(jobs) > 1
    rows = [
        [
            ending.ending,
            *([job.id] if several else []),
            format_count(ending.episodes, job.report.n),
            ending.example,
            _describe(ending),
        ]
        for ending, job in endings
    ]
    if rows:
        heads = ["ended", *(["job"] if several else []), "episodes"]
        texts = frozenset({0, 1} if several else {0})
        notes = list(dict.fromkeys(_explain_limit(job) for ending, job in endings if ending.ending == Ending.LIMIT))
        if any(ending.example for ending, _ in endings):
            texts |= {len(heads), len(heads) + 1}
            heads += ["failed example", "why"]
            notes.append("Look at an episode: lumos show EPISODE")
        ranks = [int(head == "why") for head in heads]
        cells = [row[: len(heads)] for row in rows]
        yield Table("Endings", heads, cells, " ".join(filter(None, notes)), texts, ranks=ranks)


def _explain_limit(job: JobMaterial) -> str:
    """Return how an episode counts that reached its limit; '' for a job without scores."""
    match job.report.scoring.at_limit if job.report.scoring else "":
        case AtLimit.CONCLUDE:
            return "An episode that reached its limit is judged by its last result."
        case AtLimit.WRONG:
            return "An episode that reached its limit counts as wrong."
        case _:
            return ""


def _describe(ending: EndingExample) -> str:
    """Return the message of the example, or its answer and the one that was expected."""
    if not ending.example:
        return ""
    if ending.message:
        return shorten(ending.message, MAX_MESSAGE) + (" (and other messages)" if ending.has_others else "")
    answer, gold = (" ".join(shorten(text, MAX_ANSWER).split()) or MISSING for text in (ending.answer, ending.gold))
    return f"answer {answer}, expected {gold}" if ending.answer or ending.gold else ""


def describe_reply_endings(job: JobMaterial) -> Iterator[Text]:
    """Yield a line for each role with replies that were cut, or that led to no answer."""
    for role in sorted(job.report.reply_endings or ()):
        if text := format_reply_endings(job.report, role):
            yield Text(f"{job.id}: replies of {role}: {text}")
