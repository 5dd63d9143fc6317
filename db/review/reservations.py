"""The queue of an audit: which place a person sees next, and the label that this person gives it.

A place is reserved for the person who sees it. The form of the place has a token, which it sends back. The reservation
ends when the place is labelled or skipped, or when the reservation has expired and another person needs the place. So
two people see the same place at once only if it needs two labels. Each function is one transaction that locks the audit
and uses the database's clock, so that several servers can share an audit.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, ScalarSelect, delete, exists, func, insert, select, update

from db.engine.conditions import Condition
from db.engine.connection import Database, now
from db.engine.time_conditions import is_due
from db.kinds.states import HIDDEN
from db.models import AuditSample, EpisodeRow, JobRow, Label, Reservation
from db.queries.step_locations import StepLocator
from db.queue.web_actions import note_action
from db.review.labels import NewLabel, check, check_fault, insert_labels
from db.review.remaining_labels import count_labels_left, lock_audit
from lumos_queue.errors import ConstraintViolated
from lumos_queue.util.sanitize import storable

SECONDS = 600.0  #: that a place stays reserved


@dataclass(frozen=True, slots=True)
class ReservedSlot:
    """A place that a person may label."""

    number: int
    episode: int
    token: str
    was_skipped: bool  #: by the same person, before


@dataclass(frozen=True, slots=True)
class Turn:
    """What a submitted form has changed, and the place that the person sees next."""

    next: ReservedSlot | None  #: None: no place is left for this person
    number: int = 0
    episode: int | None = None  #: that was labelled, skipped or taken back; None: nothing was stored
    value: str = ""  #: of the label
    problem: str = ""  #: why nothing was stored


def reserve_next(database: Database, audit: str, person: str) -> Turn:
    """Extend the person's reservation, or reserve the next place."""
    with database.writer.begin() as connection:
        lock_audit(connection, audit)
        return Turn(_reserve_next(connection, audit, person))


def store_label(
    database: Database,
    audit: str,
    person: str,
    number: int,
    token: str,
    value: str,
    note: str = "",
    step: str = "",
    kind: str = "",
) -> Turn:
    """Label the place that was reserved with this token, and reserve the next place.

    `step` and `kind`: the wrong step, as `locate_step` reads it, and the kind of fault; '' if the person names none.
    If the reservation has ended, nothing is stored, and `problem` of the returned Turn has the reason. Raises SpecError
    for an unknown label, step or kind, for an invalid name of the person, and for a step or kind of a label that is not
    `wrong`.
    """
    check(value, person)
    check_fault(value, kind, bool(step))
    return _take_turn(database, audit, person, number, token, _LabelInput(value, note, step, kind))


def skip_place(database: Database, audit: str, person: str, number: int, token: str) -> Turn:
    """Skip the place that was reserved with this token, and reserve the next place. Skipped places come again last."""
    return _take_turn(database, audit, person, number, token, None)


def take_back_label(database: Database, audit: str, person: str) -> Turn:
    """Remove the newest label that the person gave in this audit, and reserve its place again.

    The place that the person was looking at returns to the queue. The person's earlier label, if any, counts again.
    """
    with database.writer.begin() as connection:
        lock_audit(connection, audit)
        of_person = Label.audit == audit, Label.labeller == person
        newest = select(func.max(Label.id)).where(*of_person, Label.position.is_(None)).scalar_subquery()
        label = connection.execute(
            delete(Label).where(Label.id == newest, *of_person).returning(Label.episode, Label.value)
        ).first()
        if label is None:
            return Turn(_reserve_next(connection, audit, person), problem="You have no label here to take back.")
        count_labels_left(connection, audit, [label.episode])
        _release(connection, audit, person)
        row = connection.execute(
            select(
                AuditSample.place,
                AuditSample.episode,
                AuditSample.labels_left,
                (AuditSample.labels_left > _count_other_holders(person)).label("has_room"),
            ).where(AuditSample.audit == audit, AuditSample.episode == label.episode)
        ).one()
        note_action(connection, person, "take back label", audit, f"place {row.place}: {label.value}")
        reservation = (
            _reserve(connection, audit, _FreeSlot(row.place, row.episode, row.labels_left), person)
            if row.has_room
            else _reserve_free(connection, audit, person)
        )
        return Turn(reservation, row.place, label.episode, label.value)


class _FreeSlot(NamedTuple):
    """A place that needs a label of one more person."""

    place: int
    episode: int
    labels_left: int


@dataclass(frozen=True, slots=True)
class _LabelInput:
    value: str
    note: str
    step: str
    kind: str


def _take_turn(database: Database, audit: str, person: str, number: int, token: str, label: _LabelInput | None) -> Turn:
    try:
        with database.writer.begin() as connection:
            lock_audit(connection, audit)
            return _store(connection, audit, person, number, token, label)
    except ConstraintViolated:  # its job was removed between two statements
        with database.writer.begin() as connection:
            lock_audit(connection, audit)
            return Turn(_reserve_next(connection, audit, person), problem=f"Place {number} was removed with its job.")


def _store(connection: Connection, audit: str, person: str, number: int, token: str, label: _LabelInput | None) -> Turn:
    of_reservation = Reservation.audit == audit, Reservation.place == number, Reservation.person == person
    row = connection.execute(
        select(AuditSample.episode, AuditSample.labels_left, Reservation.token)
        .join_from(AuditSample, Reservation, (Reservation.audit == audit) & (Reservation.place == AuditSample.place))
        .where(
            *of_reservation,
            Reservation.token == storable(token)[0],
            Reservation.token != "",
            AuditSample.audit == audit,
        )
    ).first()
    if row is None or not row.labels_left:
        return Turn(_reserve_next(connection, audit, person), problem=_why_stale(connection, audit, number, person))
    if label is None:
        connection.execute(update(Reservation).where(*of_reservation).values(token="", expires_at=0, skipped_at=now()))
        note_action(connection, person, "skip", audit, f"place {number}")
        return Turn(_reserve_free(connection, audit, person), number, row.episode)
    value, note = label.value, label.note
    position, branch = StepLocator(connection).locate(row.episode, label.step) if label.step else (None, None)
    new_label = NewLabel(
        row.episode,
        value,
        person,
        note,
        audit=audit,
        wrong_position=position,
        wrong_branch=branch,
        wrong_kind=label.kind,
    )
    insert_labels(connection, [new_label])
    count_labels_left(connection, audit, [row.episode])
    connection.execute(delete(Reservation).where(*of_reservation))
    note_action(connection, person, "label", audit, f"place {number}: {value}" + (", with a note" if note else ""))
    return Turn(_reserve_free(connection, audit, person), number, row.episode, value)


def _why_stale(connection: Connection, audit: str, number: int, person: str) -> str:
    """Return the reason for the person why the form of a place has stored nothing."""
    where = AuditSample.audit == audit, AuditSample.place == number
    row = connection.execute(select(AuditSample.episode, AuditSample.labels_left).where(*where)).first()
    if row is None:
        return f"There is no place {number} any more: its job was removed. Nothing was stored; this is the next one."
    if connection.execute(select(exists().where(*_by(audit, person), Label.episode == row.episode))).scalar_one():
        return f"You have labelled place {number} already. Nothing was stored; this is the next one."
    if not row.labels_left:
        return f"Place {number} was labelled by another person meanwhile. Nothing was stored; this is the next one."
    return (
        f"Place {number} is not reserved for you any more, as too much time has passed or you continued in another "
        "window. Nothing was stored; this is the next one."
    )


def _reserve_next(connection: Connection, audit: str, person: str) -> ReservedSlot | None:
    """Return the place that the person holds already, or reserve the next one."""
    row = connection.execute(
        select(AuditSample.place, AuditSample.episode, Reservation.token, Reservation.skipped_at)
        .join_from(AuditSample, Reservation, (Reservation.audit == audit) & (Reservation.place == AuditSample.place))
        .where(AuditSample.audit == audit, Reservation.person == person, Reservation.token != "")
        .join(EpisodeRow, EpisodeRow.id == AuditSample.episode)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(AuditSample.labels_left > 0, ~_has_label(audit, person), JobRow.state.not_in(HIDDEN))
    ).first()
    if row is not None:
        of_reservation = Reservation.audit == audit, Reservation.place == row.place, Reservation.person == person
        connection.execute(update(Reservation).where(*of_reservation).values(expires_at=now() + SECONDS))
        return ReservedSlot(row.place, row.episode, row.token, row.skipped_at is not None)
    _release(connection, audit, person)
    return _reserve_free(connection, audit, person)


def _reserve_free(connection: Connection, audit: str, person: str) -> ReservedSlot | None:
    """Reserve the first free place for a person who holds none. Places that the person has skipped come last."""
    of_person = (Reservation.audit == audit) & (Reservation.place == AuditSample.place) & (Reservation.person == person)
    free = (
        select(AuditSample.place, AuditSample.episode, AuditSample.labels_left)
        .join(EpisodeRow, EpisodeRow.id == AuditSample.episode)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(AuditSample.audit == audit, AuditSample.labels_left > 0, JobRow.state.not_in(HIDDEN))
        .where(~_has_label(audit, person), AuditSample.labels_left > _count_other_holders(person))
        .limit(1)
        # The lock keeps the place from being removed with its job before the reservation refers to it.
        .with_for_update(read=True, key_share=True, skip_locked=True, of=AuditSample)
    )
    skipped_places = free.join(Reservation, of_person).order_by(Reservation.skipped_at, AuditSample.place)
    for query in (free.where(~exists().where(of_person)).order_by(AuditSample.place), skipped_places):
        row = connection.execute(query).first()
        if row is not None:
            return _reserve(connection, audit, _FreeSlot(*row), person)
    return None


def _reserve(connection: Connection, audit: str, free: _FreeSlot, person: str) -> ReservedSlot:
    """Reserve the place `free` for the person."""
    at_place = Reservation.audit == audit, Reservation.place == free.place
    rows = connection.execute(
        select(Reservation.person, Reservation.token, Reservation.skipped_at)
        .where(*at_place)
        .order_by(Reservation.expires_at.desc())
    ).all()
    holders = [row.person for row in rows if row.person != person and row.token]
    # The reservations of other people that are too many have expired, or there would be no room.
    for holder in [*holders[free.labels_left - 1 :], *(row.person for row in rows if row.person == person)]:
        connection.execute(delete(Reservation).where(*at_place, Reservation.person == holder))
    skip_time = next((row.skipped_at for row in rows if row.person == person), None)
    token = secrets.token_urlsafe(16)
    row = {"audit": audit, "place": free.place, "person": person, "token": token, "skipped_at": skip_time}
    connection.execute(insert(Reservation).values(expires_at=now() + SECONDS, **row))
    return ReservedSlot(free.place, free.episode, token, skip_time is not None)


def _release(connection: Connection, audit: str, person: str) -> None:
    """Give back the place that the person holds. Skipped places stay skipped."""
    conditions = Reservation.audit == audit, Reservation.person == person, Reservation.token != ""
    connection.execute(delete(Reservation).where(*conditions, Reservation.skipped_at.is_(None)))
    connection.execute(update(Reservation).where(*conditions).values(token="", expires_at=0))


def _by(audit: str, person: str) -> tuple[Condition, ...]:
    return Label.audit == audit, Label.labeller == person, Label.position.is_(None)


def _has_label(audit: str, person: str) -> Condition:
    return exists().where(*_by(audit, person), Label.episode == AuditSample.episode)


def _count_other_holders(person: str) -> ScalarSelect[int]:
    return (
        select(func.count())
        .where(
            Reservation.audit == AuditSample.audit,
            Reservation.place == AuditSample.place,
            Reservation.person != person,
            ~is_due(Reservation.expires_at, SECONDS),
        )
        .correlate(AuditSample)
        .scalar_subquery()
    )
