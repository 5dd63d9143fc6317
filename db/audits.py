"""Audits as rows: the sample that was drawn, and the labels it was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from db.connection import Database, now
from db.filter_sql import conditions
from db.filters import Filter, Term
from db.models import Audit, AuditSample, EpisodeRow, Item, Job, Label, SubgoalRow
from lumos_queue.errors import SpecError
from lumos_queue.scoring.sampling import SampledEpisode, draw, stratum_of
from lumos_queue.util.sanitize import storable

MOST_CHARACTERS = 80  #: of an audit's name
#: An audit asks how far the acceptance check can be trusted: of annotations that it accepted for both modules. One that
#: it rejects for one module keeps the level that it reached for the other.
ACCEPTED = Filter((Term("level", ">=", "format"), Term("verdict", "=", "accepted")))


@dataclass(frozen=True, slots=True)
class Sampled:
    """One place of an audit, with the newest label of each labeller."""

    place: int
    episode: int
    name: str  #: JOB-NUMBER
    stratum: str
    weight: float
    labels: dict[str, str]  #: labeller to label


def strata_of(connection: Connection, wanted: Filter) -> dict[str, list[int]]:
    """The accepted annotations for which the filter holds, by stratum."""
    subgoals = (
        select(func.count())
        .where(SubgoalRow.episode == EpisodeRow.id, SubgoalRow.attempt == EpisodeRow.attempt)
        .scalar_subquery()
    )
    rows = connection.execute(
        select(EpisodeRow.id, Job.benchmark, EpisodeRow.level, subgoals)
        .join(Job, Job.id == EpisodeRow.job)
        .where(*conditions(connection, wanted & ACCEPTED))
        .order_by(EpisodeRow.id)
        .execution_options(yield_per=1000)
    )
    found: dict[str, list[int]] = {}
    for episode, benchmark, level, count in rows:
        found.setdefault(stratum_of(benchmark, level, count), []).append(episode)
    return found


def draw_audit(database: Database, name: str, wanted: Filter, size: int, seed: int) -> list[SampledEpisode]:
    """Draw a sample of the accepted annotations for which the filter holds, and keep it under a new name.

    Raises SpecError when the name is taken or no name, when nothing fits, or when `size` is less than the strata.
    """
    if not name.strip() or len(name) > MOST_CHARACTERS or not name.isprintable() or storable(name)[1]:
        raise SpecError(f"'{name[:40]}' is no name for an audit: give 1 to {MOST_CHARACTERS} printable characters.")
    with database.engine.connect() as connection:
        _refuse_taken(connection, name)
        strata = strata_of(connection, wanted)
    population = sum(map(len, strata.values()))
    if not population:
        raise SpecError(
            f"No accepted annotation answers '{wanted}': an audit is drawn from episodes with a check level "
            "that no verdict rejects."
        )
    drawn = draw(strata, size, seed)
    try:
        with database.writer.begin() as connection:
            connection.execute(
                insert(Audit).values(name=name, query=str(wanted), seed=seed, population=population, created_at=now())
            )
            connection.execute(
                insert(AuditSample),
                [{"audit": name, "place": one.place, "episode": one.episode, "stratum": one.stratum,
                  "weight": one.weight} for one in drawn],
            )  # fmt: skip
    except IntegrityError:
        with database.engine.connect() as connection:
            _refuse_taken(connection, name)  # somebody drew one of this name meanwhile
        raise SpecError("A drawn episode was removed meanwhile: draw the audit again.") from None
    return drawn


def _refuse_taken(connection: Connection, name: str) -> None:
    if connection.execute(select(Audit.name).where(Audit.name == name)).first():
        raise SpecError(f"There is an audit '{name}' already. See it with: lumos audit report {name}")


def get_audit(connection: Connection, name: str) -> Any:
    """The audit's row. Raises SpecError when there is none, naming the newest that there are."""
    found = connection.execute(select(Audit.__table__).where(Audit.name == name)).first()
    if found is None:
        names = connection.execute(select(Audit.name).order_by(Audit.created_at.desc()).limit(10)).scalars().all()
        there = f"There are: {', '.join(names)}." if names else "Draw one with: lumos audit draw NAME"
        raise SpecError(f"No audit is called '{name}'. {there}")
    return found


def samples_of(connection: Connection, audit: str) -> list[Sampled]:
    """The places of an audit in order. Labels given outside this audit do not count."""
    labels: dict[int, dict[str, str]] = {}
    given = select(Label.episode, Label.labeller, Label.value).where(
        Label.episode.in_(select(AuditSample.episode).where(AuditSample.audit == audit)),
        Label.audit == audit,
        Label.position.is_(None),
    )
    for episode, labeller, value in connection.execute(given.order_by(Label.id)):
        labels.setdefault(episode, {})[labeller] = value
    rows = connection.execute(
        select(AuditSample.place, AuditSample.episode, Item.job, Item.ordinal, AuditSample.stratum, AuditSample.weight)
        .join(Item, Item.id == AuditSample.episode)
        .where(AuditSample.audit == audit)
        .order_by(AuditSample.place)
    )
    return [
        Sampled(row.place, row.episode, f"{row.job}-{row.ordinal}", row.stratum, row.weight,
                labels.get(row.episode, {}))
        for row in rows
    ]  # fmt: skip


def next_of(samples: Sequence[Sampled], labeller: str) -> Sampled | None:
    """The first place that the labeller has not labelled."""
    return next((one for one in samples if labeller not in one.labels), None)
