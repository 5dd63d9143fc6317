"""Count the rows of a conversion by outcome, check level and rule.

A row is *accepted* if no verdict rejects the training row of a module, *waiting* if a verdict `unsure` rejects it,
because a teacher may still convert it, and otherwise *rejected*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from db.engine.connection import Connection
from db.queries.conversion import list_notes, list_rejections
from db.queue.stored_jobs import StoredJob
from lumos_queue.conversion.verdicts import VERDICTS
from lumos_queue.scoring.annotation_strata import NO_NOTE, name_notes, name_rule

UNSURE = "unsure"  #: the rejecting verdict of a waiting row


class RowOutcome(StrEnum):
    """What a conversion makes of a row."""

    ACCEPTED = "accepted"
    WAITING = "waiting"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class OutcomeRows:
    """The number of rows with the same outcome, check level, rule and note."""

    outcome: RowOutcome
    level: str
    rule: str
    note: str
    rows: int


def count_outcomes(connection: Connection, job: StoredJob, levels: Mapping[str, int]) -> list[OutcomeRows]:
    """Return the rows of a conversion by outcome, level, rule and note, in this order; each judged row counts once.

    `levels` has the accepted rows by check level. The rule of an accepted row is that of its stratum in an audit
    (annotation_strata.name_rule), and its note the verdicts that reject nothing. The rule of another row is the verdict
    that rejects it: the first in the order of VERDICTS if there are several.
    """
    rejections, notes = list_rejections(connection, job.id), list_notes(connection, job.id)
    rule = name_rule(job.origin, job.spec)
    noted = Counter((level, name_notes(names)) for level, names in notes)
    plain = Counter(dict(levels))
    for (level, _), rows in noted.items():
        plain[level] -= rows
    counts: Counter[tuple[RowOutcome, str, str, str]] = Counter()
    for level, rows in plain.items():
        counts[RowOutcome.ACCEPTED, level, rule, NO_NOTE] += rows
    for (level, note), rows in noted.items():
        counts[RowOutcome.ACCEPTED, level, rule, note] += rows
    for level, names in rejections:
        outcome = RowOutcome.WAITING if UNSURE in names else RowOutcome.REJECTED
        counts[outcome, level, UNSURE if UNSURE in names else min(names, key=_order), ""] += 1
    order = list(RowOutcome)
    return [
        OutcomeRows(outcome, level, name, note, rows)
        for (outcome, level, name, note), rows in sorted(
            counts.items(), key=lambda pair: (order.index(pair[0][0]), -pair[1], pair[0])
        )
        if rows
    ]


def total_outcomes(outcomes: Iterable[OutcomeRows]) -> dict[str, int]:
    """Return the number of rows of each outcome, also of those that do not occur."""
    totals = dict.fromkeys((str(outcome) for outcome in RowOutcome), 0)
    for group in outcomes:
        totals[group.outcome] += group.rows
    return totals


_POSITIONS = {name: position for position, name in enumerate(VERDICTS)}


def _order(name: str) -> tuple[int, str]:
    """Return the key by which verdicts are ordered; reasons why no rule converts a row come last."""
    return _POSITIONS.get(name, len(_POSITIONS)), name
