"""Labels: people's opinions of episodes and steps. Rows are never changed; a person's newest label counts.

A rating, from 1 to 10, is a label of a whole episode. A person's newest rating and newest other label both count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, insert

from db.engine.connection import Database, now
from db.models import Label
from db.queries.labels import KINDS, RATINGS, VALUES, NewestLabel, newest_of_audit
from db.queue.web_actions import PersonAction
from db.review.remaining_labels import count_labels_left, lock_audit
from lumos_queue.errors import SpecError, unknown
from lumos_queue.util.sanitize import storable

MAX_NAME = 200  #: of a labeller's name


@dataclass(frozen=True, slots=True)
class NewLabel:
    """A label to store: of an episode (its key) or, with a position, of one of its steps."""

    episode: int
    value: str  #: one of VALUES; of a whole episode also one of RATINGS
    labeller: str
    note: str = ""
    position: int | None = None
    branch: int | None = None
    audit: str | None = None
    wrong_position: int | None = None  #: the wrong step, for a label `wrong` of the whole episode
    wrong_branch: int | None = None
    wrong_kind: str = ""  #: one of KINDS, for a label `wrong`; '' if the person names none


def add_labels(
    database: Database, labels: Sequence[NewLabel], action: PersonAction | None = None, detail: str = ""
) -> None:
    """Store all labels, or none. `action` and its detail are recorded with the labels, if there are any.

    Raises SpecError for an unknown value or kind, for an invalid name of a labeller, and for a step or kind of a label
    that is not `wrong`.
    """
    for label in labels:
        check_fault(label.value, label.wrong_kind, label.wrong_position is not None)
        check(label.value, label.labeller, VALUES if label.position is not None or label.audit else (*VALUES, *RATINGS))
    if not labels:
        return
    of_audits: dict[str, set[int]] = {}
    for label in labels:
        if label.audit:
            of_audits.setdefault(label.audit, set()).add(label.episode)
    with database.writer.begin() as connection:
        for audit in sorted(of_audits):
            lock_audit(connection, audit)
        insert_labels(connection, labels)
        if action:
            action.record(connection, detail)
        for audit, episodes in of_audits.items():
            count_labels_left(connection, audit, sorted(episodes))


def insert_labels(connection: Connection, labels: Sequence[NewLabel]) -> None:
    """Store labels that were checked. The same transaction must then call `count_labels_left` for labels of audits."""
    rows = [
        asdict(label) | {"note": storable(label.note)[0], "labeller": storable(label.labeller)[0]} for label in labels
    ]
    connection.execute(insert(Label).values(labelled_at=now()), rows)


def new_labels(connection: Connection, labels: Sequence[NewLabel]) -> list[NewLabel]:
    """Return the labels that differ from the person's newest label in the audit, as a file may be imported twice."""
    newest_labels: dict[str, dict[tuple[int, str], NewestLabel]] = {}
    additions: list[NewLabel] = []
    for label in labels:
        audit = label.audit or ""
        if audit not in newest_labels:
            newest_labels[audit] = newest_of_audit(connection, audit)
        opinion = NewestLabel(
            label.value, storable(label.note)[0], label.wrong_position, label.wrong_branch, label.wrong_kind
        )
        who = label.episode, storable(label.labeller)[0]
        if newest_labels[audit].get(who) != opinion:
            newest_labels[audit][who] = opinion
            additions.append(label)
    return additions


def check(value: str, labeller: str, values: Sequence[str] = VALUES) -> None:
    """Raise SpecError unless `value` is one of `values` and `labeller` a person's name."""
    if value not in values:
        raise unknown("label", value, values)
    if not labeller.strip() or len(labeller) > MAX_NAME:
        raise SpecError(f"'{labeller[:40]}' is not the name of a labeller: expected 1 to {MAX_NAME} characters.")


def check_fault(value: str, kind: str, has_step: bool) -> None:
    """Raise SpecError for an unknown kind of fault, and for a kind or a step of a label that is not `wrong`."""
    if kind and kind not in KINDS:
        raise unknown("kind of fault", kind[:40], KINDS)
    if (kind or has_step) and value != "wrong":
        raise SpecError(f"Only the label wrong names a step or a kind of fault: the label is '{value[:40]}'.")
