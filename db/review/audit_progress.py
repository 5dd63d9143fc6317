"""The progress of audits: their list, each person's progress, and the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, case, func, select

from db.engine.conditions import is_among, is_one_of
from db.engine.whole_rows import read_rows
from db.models import Audit, AuditSample, EpisodeRow, Item, Label
from db.queries.damage import find_value_damage
from db.queries.filter_sql import newest_score
from db.review.reservations import SECONDS

_AUDITS = Audit.__table__
MIN_GAP = (
    0.2  #: seconds between two labels of a person; labels of a file have shorter gaps, as they are stored together
)


@dataclass(frozen=True, slots=True)
class ListedAudit:
    """An audit and its progress."""

    row: Any
    damage: str  #: what is unreadable in the row; '' if nothing is
    places: int
    labelled: int  #: places that have all the labels they need
    people: int


@dataclass(frozen=True, slots=True)
class PersonsProgress:
    """One person's progress in an audit."""

    person: str
    labelled: int  #: places
    remaining: int  #: places that this person can still label
    per_hour: float | None  #: while at work: gaps between two labels that are longer than a reservation do not count


@dataclass(frozen=True, slots=True)
class LabelledSlot:
    """One place of an audit, with the newest label of each person."""

    number: int
    name: str  #: JOB-NUMBER
    stratum: str
    score: float | None
    labels_left: int
    labels: Sequence[Label]


def list_audits(connection: Connection, limit: int, before: str = "") -> list[ListedAudit]:
    """Return the newest audits, newest first. `before`: the name of an audit; only older audits are returned."""
    query = select(_AUDITS).order_by(Audit.created_at.desc(), Audit.name.desc()).limit(limit)
    last = connection.execute(select(Audit.created_at, Audit.name).where(Audit.name == before)).first()
    if last is not None:
        is_older = Audit.created_at < last.created_at
        query = query.where(is_older | ((Audit.created_at == last.created_at) & (Audit.name < last.name)))
    rows = list(connection.execute(query))
    names = [row.name for row in rows]
    counts = {
        audit: (count, full_places)
        for audit, count, full_places in connection.execute(
            select(AuditSample.audit, func.count(), func.sum(case((AuditSample.labels_left == 0, 1), else_=0)))
            .where(is_one_of(AuditSample.audit, names))
            .group_by(AuditSample.audit)
        )
    }
    people = {
        audit: count
        for audit, count in connection.execute(
            select(Label.audit, func.count(Label.labeller.distinct()))
            .where(Label.audit.is_not(None), is_one_of(Label.audit, names))
            .group_by(Label.audit)
        )
    }
    return [
        ListedAudit(row, find_value_damage(_AUDITS, row), *counts.get(row.name, (0, 0)), people.get(row.name, 0))
        for row in rows
    ]


def count_left(connection: Connection, audit: str) -> int:
    """Count the labels that the audit still needs."""
    query = select(func.coalesce(func.sum(AuditSample.labels_left), 0))
    return connection.execute(query.where(AuditSample.audit == audit, AuditSample.labels_left > 0)).scalar_one()


def count_own(connection: Connection, audit: str, person: str) -> int:
    """Count the places of the audit that the person has labelled."""
    of_person = Label.audit == audit, Label.labeller == person, Label.position.is_(None)
    return connection.execute(select(func.count(Label.episode.distinct())).where(*of_person)).scalar_one()


def progress_by_person(connection: Connection, audit: str) -> list[PersonsProgress]:
    """Return the progress of each person who has labelled in the audit, by name."""
    of_audit = Label.audit == audit, Label.position.is_(None)
    rows = connection.execute(
        select(Label.labeller, func.count(Label.episode.distinct()))
        .where(*of_audit)
        .group_by(Label.labeller)
        .order_by(Label.labeller)
    ).all()
    is_open = AuditSample.audit == audit, AuditSample.labels_left > 0
    open_places = connection.execute(select(func.count()).select_from(AuditSample).where(*is_open)).scalar_one()
    own_counts = {
        person: count
        for person, count in connection.execute(
            select(Label.labeller, func.count(Label.episode.distinct()))
            .join(AuditSample, AuditSample.episode == Label.episode)
            .where(*of_audit, *is_open)
            .group_by(Label.labeller)
        )
    }
    before = func.lag(Label.labelled_at).over(partition_by=Label.labeller, order_by=Label.id)
    gaps = select(Label.labeller, (Label.labelled_at - before).label("gap")).where(*of_audit).subquery()
    pace = {
        person: 3600 * count / seconds
        for person, count, seconds in connection.execute(
            select(gaps.c.labeller, func.count(), func.sum(gaps.c.gap))
            .where(gaps.c.gap >= MIN_GAP, gaps.c.gap <= SECONDS)
            .group_by(gaps.c.labeller)
        )
    }
    return [
        PersonsProgress(person, count, open_places - own_counts.get(person, 0), pace.get(person))
        for person, count in rows
    ]


def list_labelled_slots(connection: Connection, audit: str, limit: int, after: int = 0) -> list[LabelledSlot]:
    """Return the places that have a label, in order. `after`: the number of a place; only later places are returned."""
    of_audit = Label.audit == audit, Label.position.is_(None)
    has_label = select(Label.id).where(*of_audit, Label.episode == AuditSample.episode).exists()
    rows = connection.execute(
        select(AuditSample.__table__, Item.job, Item.ordinal, newest_score(connection).label("score"))
        .join(Item, Item.id == AuditSample.episode)
        .join(EpisodeRow, EpisodeRow.id == AuditSample.episode)
        .where(AuditSample.audit == audit, AuditSample.place > after, has_label)
        .order_by(AuditSample.place)
        .limit(limit)
    ).all()
    newest: dict[int, dict[str, Label]] = {}
    query = select(Label.__table__).where(*of_audit, is_among(Label.episode, [row.episode for row in rows]))
    for label in read_rows(connection, Label, query.order_by(Label.id)):
        newest.setdefault(label.episode, {})[label.labeller] = label
    return [
        LabelledSlot(
            row.place,
            f"{row.job}-{row.ordinal}",
            row.stratum,
            row.score,
            row.labels_left,
            list(newest.get(row.episode, {}).values()),
        )
        for row in rows
    ]
