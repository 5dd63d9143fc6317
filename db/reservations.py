"""The queue of an audit: which place a person sees next, and the label that this person gives it.

A place is reserved for whoever sees it, by a token that the form brings back, until it is labelled or skipped, or the
reservation has expired and another person needs the place. So two people at once see the same place only where it wants
two labels. All of a step is one transaction under the audit's lock, by the database's clock, however many servers there
are.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from db.connection import Database, now
from db.labels import NewLabel, check, insert_labels
from db.models import AuditSample, EpisodeRow, JobRow, Label, Reservation
from db.remaining_labels import count_labels_left, lock_audit
from db.states import HIDDEN
from db.time_conditions import is_due
from db.web_actions import note_action
from lumos_queue.util.sanitize import storable

SECONDS = 600.0  #: that a place stays reserved


@dataclass(frozen=True, slots=True)
class Reserved:
    """A place that a person may label."""

    place: int
    episode: int
    token: str
    was_skipped: bool  #: by the same person, before


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a form, and what the person sees next."""

    next: Reserved | None  #: None: nothing is left for this person
    place: int = 0
    episode: int | None = None  #: that was labelled, skipped or taken back; None: nothing was stored
    value: str = ""  #: of the label
    problem: str = ""  #: why nothing was stored


def reserve_next(database: Database, audit: str, person: str) -> Turn:
    """The place that the person has reserved already, for as long again, or the next one."""
    with database.writer.begin() as connection:
        lock_audit(connection, audit)
        return Turn(_reserve_next(connection, audit, person))


def store_label(
    database: Database, audit: str, person: str, place: int, token: str, value: str, note: str = ""
) -> Turn:
    """Label the place that was reserved with this token, and reserve the next one.

    Nothing is stored where it is not reserved any more: it was labelled already, or another person got it meanwhile.
    Raises SpecError for a label that there is not.
    """
    check(value, person)
    return _take_turn(database, audit, person, place, token, _Labelling(value, note))


def skip_place(database: Database, audit: str, person: str, place: int, token: str) -> Turn:
    """Put off the place that was reserved with this token until nothing else is left, and reserve the next one."""
    return _take_turn(database, audit, person, place, token, None)


def take_back_label(database: Database, audit: str, person: str) -> Turn:
    """Remove the newest label that the person gave in this audit, and reserve its place again.

    What the person was looking at goes back to the queue. The label before it, if there is one, counts again.
    """
    with database.writer.begin() as connection:
        lock_audit(connection, audit)
        own = Label.audit == audit, Label.labeller == person
        newest = select(func.max(Label.id)).where(*own, Label.position.is_(None)).scalar_subquery()
        gone: Any = connection.execute(
            delete(Label).where(Label.id == newest, *own).returning(Label.episode, Label.value)
        ).first()
        if gone is None:
            return Turn(_reserve_next(connection, audit, person), problem="You have no label here to take back.")
        count_labels_left(connection, audit, [gone.episode])
        _release(connection, audit, person)
        row: Any = connection.execute(
            select(
                AuditSample.place,
                AuditSample.episode,
                AuditSample.labels_left,
                (AuditSample.labels_left > _held_by_others(person)).label("has_room"),
            ).where(AuditSample.audit == audit, AuditSample.episode == gone.episode)
        ).one()
        note_action(connection, person, "take back label", audit, f"place {row.place}: {gone.value}")
        again = _reserve(connection, audit, row, person) if row.has_room else _reserve_free(connection, audit, person)
        return Turn(again, row.place, gone.episode, gone.value)


@dataclass(frozen=True, slots=True)
class _Labelling:
    value: str
    note: str


def _take_turn(
    database: Database, audit: str, person: str, place: int, token: str, labelling: _Labelling | None
) -> Turn:
    try:
        with database.writer.begin() as connection:
            lock_audit(connection, audit)
            return _store(connection, audit, person, place, token, labelling)
    except IntegrityError:  # its job was removed between two statements
        with database.writer.begin() as connection:
            lock_audit(connection, audit)
            return Turn(_reserve_next(connection, audit, person), problem=f"Place {place} was removed with its job.")


def _store(
    connection: Connection, audit: str, person: str, place: int, token: str, labelling: _Labelling | None
) -> Turn:
    own = Reservation.audit == audit, Reservation.place == place, Reservation.person == person
    found: Any = connection.execute(
        select(AuditSample.episode, AuditSample.labels_left, Reservation.token)
        .join_from(AuditSample, Reservation, (Reservation.audit == audit) & (Reservation.place == AuditSample.place))
        .where(*own, Reservation.token == storable(token)[0], Reservation.token != "", AuditSample.audit == audit)
    ).first()
    if found is None or not found.labels_left:
        return Turn(_reserve_next(connection, audit, person), problem=_why_stale(connection, audit, place, person))
    if labelling is None:
        connection.execute(update(Reservation).where(*own).values(token="", expires_at=0, skipped_at=now()))
        note_action(connection, person, "skip", audit, f"place {place}")
        return Turn(_reserve_free(connection, audit, person), place, found.episode)
    value, note = labelling.value, labelling.note
    insert_labels(connection, [NewLabel(found.episode, value, person, note, audit=audit)])
    count_labels_left(connection, audit, [found.episode])
    connection.execute(delete(Reservation).where(*own))
    note_action(connection, person, "label", audit, f"place {place}: {value}" + (", with a note" if note else ""))
    return Turn(_reserve_free(connection, audit, person), place, found.episode, value)


def _why_stale(connection: Connection, audit: str, place: int, person: str) -> str:
    """Why the form of a place stores nothing."""
    where = AuditSample.audit == audit, AuditSample.place == place
    found: Any = connection.execute(select(AuditSample.episode, AuditSample.labels_left).where(*where)).first()
    if found is None:
        return f"There is no place {place} any more: its job was removed. Nothing was stored; this is the next one."
    if connection.execute(select(exists().where(*_by(audit, person), Label.episode == found.episode))).scalar_one():
        return f"You have labelled place {place} already. Nothing was stored; this is the next one."
    if not found.labels_left:
        return f"Place {place} was labelled by another person meanwhile. Nothing was stored; this is the next one."
    return (
        f"Place {place} is not reserved for you any more, as too much time has passed or you went on in another "
        "window. Nothing was stored; this is the next one."
    )


def _reserve_next(connection: Connection, audit: str, person: str) -> Reserved | None:
    """What the person holds already, or what is next."""
    held: Any = connection.execute(
        select(AuditSample.place, AuditSample.episode, Reservation.token, Reservation.skipped_at)
        .join_from(AuditSample, Reservation, (Reservation.audit == audit) & (Reservation.place == AuditSample.place))
        .where(AuditSample.audit == audit, Reservation.person == person, Reservation.token != "")
        .join(EpisodeRow, EpisodeRow.id == AuditSample.episode)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(AuditSample.labels_left > 0, ~_labelled_by(audit, person), JobRow.state.not_in(HIDDEN))
    ).first()
    if held is not None:
        own = Reservation.audit == audit, Reservation.place == held.place, Reservation.person == person
        connection.execute(update(Reservation).where(*own).values(expires_at=now() + SECONDS))
        return Reserved(held.place, held.episode, held.token, held.skipped_at is not None)
    _release(connection, audit, person)
    return _reserve_free(connection, audit, person)


def _reserve_free(connection: Connection, audit: str, person: str) -> Reserved | None:
    """The first place that is free, for who holds none; those that the person has skipped come last."""
    mine = (Reservation.audit == audit) & (Reservation.place == AuditSample.place) & (Reservation.person == person)
    free = (
        select(AuditSample.place, AuditSample.episode, AuditSample.labels_left)
        .join(EpisodeRow, EpisodeRow.id == AuditSample.episode)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(AuditSample.audit == audit, AuditSample.labels_left > 0, JobRow.state.not_in(HIDDEN))
        .where(~_labelled_by(audit, person), AuditSample.labels_left > _held_by_others(person))
        .limit(1)
        # A place must not go with its job between this statement and the reservation that refers to it.
        .with_for_update(read=True, key_share=True, skip_locked=True, of=AuditSample)
    )
    skipped = free.join(Reservation, mine).order_by(Reservation.skipped_at, AuditSample.place)
    for wanted in (free.where(~exists().where(mine)).order_by(AuditSample.place), skipped):
        found: Any = connection.execute(wanted).first()
        if found is not None:
            return _reserve(connection, audit, found, person)
    return None


def _reserve(connection: Connection, audit: str, free: Any, person: str) -> Reserved:
    """`free`: place, episode and labels_left of a place that has room for the person."""
    at_place = Reservation.audit == audit, Reservation.place == free.place
    rows = connection.execute(
        select(Reservation.person, Reservation.token, Reservation.skipped_at)
        .where(*at_place)
        .order_by(Reservation.expires_at.desc())
    ).all()
    others = [row.person for row in rows if row.person != person and row.token]
    # Of others those that are too many have expired, or there would be no room.
    for gone in [*others[free.labels_left - 1 :], *(row.person for row in rows if row.person == person)]:
        connection.execute(delete(Reservation).where(*at_place, Reservation.person == gone))
    skipped_at = next((row.skipped_at for row in rows if row.person == person), None)
    token = secrets.token_urlsafe(16)
    row = {"audit": audit, "place": free.place, "person": person, "token": token, "skipped_at": skipped_at}
    connection.execute(insert(Reservation).values(expires_at=now() + SECONDS, **row))
    return Reserved(free.place, free.episode, token, skipped_at is not None)


def _release(connection: Connection, audit: str, person: str) -> None:
    """Give back what the person holds; what was skipped before stays so."""
    own = Reservation.audit == audit, Reservation.person == person, Reservation.token != ""
    connection.execute(delete(Reservation).where(*own, Reservation.skipped_at.is_(None)))
    connection.execute(update(Reservation).where(*own).values(token="", expires_at=0))


def _by(audit: str, person: str) -> tuple[Any, ...]:
    return Label.audit == audit, Label.labeller == person, Label.position.is_(None)


def _labelled_by(audit: str, person: str) -> Any:
    return exists().where(*_by(audit, person), Label.episode == AuditSample.episode)


def _held_by_others(person: str) -> Any:
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
