"""Audits as rows: the sample that was drawn, and the labels it was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from db.conditions import Condition
from db.connection import Database, now
from db.filter_sql import conditions, newest_score
from db.filters import Filter, Term
from db.models import Audit, AuditSample, EpisodeRow, Item, JobRow, Label, SubgoalRow
from lumos_queue.errors import SpecError
from lumos_queue.records import Ending
from lumos_queue.scoring.sampling import AuditKind, SampledEpisode, draw, side_of, stratum_of, stratum_of_run
from lumos_queue.util.sanitize import storable

MAX_NAME = 80  #: of an audit's name
#: An audit of annotations asks how far the acceptance check can be trusted: it is of those that the check accepted for
#: both modules. One that it rejects for one module keeps the level that it reached for the other.
ACCEPTED = Filter((Term("level", ">=", "format"), Term("verdict", "=", "accepted")))
RUNS = ("evaluate", "infer")  #: kinds of jobs whose episodes are runs


@dataclass(frozen=True, slots=True)
class Sampled:
    """One place of an audit, with the newest label of each labeller."""

    place: int
    episode: int
    name: str  #: JOB-NUMBER
    stratum: str
    weight: float
    labels: dict[str, str]  #: labeller to label
    score: float | None = None  #: by the main metric; of a judge's grade 1 or 0: on which side of the middle it is
    labels_left: int = 1  #: that it needs yet


def strata_of(connection: Connection, wanted: Filter, kind: AuditKind = AuditKind.ANNOTATIONS) -> dict[str, list[int]]:
    """What can be drawn of the episodes for which the filter holds, by stratum."""
    subgoals = (
        select(func.count())
        .where(SubgoalRow.episode == EpisodeRow.id, SubgoalRow.attempt == EpisodeRow.attempt)
        .scalar_subquery()
    )
    judged: Any = newest_score(connection) if kind == AuditKind.RUNS else EpisodeRow.level
    name: Callable[[str, Any, int], str] = stratum_of_run if kind == AuditKind.RUNS else stratum_of
    rows = connection.execute(
        select(EpisodeRow.id, JobRow.benchmark, judged, subgoals, JobRow.main_metric)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(*_members(connection, wanted, kind))
        .order_by(EpisodeRow.id)
        .execution_options(yield_per=1000)
    )
    found: dict[str, list[int]] = {}
    for episode, benchmark, value, count, metric in rows:
        side: Any = side_of(value, metric) if kind == AuditKind.RUNS else value
        found.setdefault(name(benchmark, side, count), []).append(episode)
    return found


def count_members(connection: Connection, wanted: Filter, kind: AuditKind, most: int) -> int:
    """How many episodes an audit would be drawn from; `most` + 1 where there are more than that."""
    few = (
        select(EpisodeRow.id)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(*_members(connection, wanted, kind))
        .limit(most + 1)
        .subquery()
    )
    return connection.execute(select(func.count()).select_from(few)).scalar_one()


def _members(connection: Connection, wanted: Filter, kind: AuditKind) -> list[Condition]:
    """Accepted annotations; or runs, but for those that a failure of infrastructure ended: they say nothing."""
    if kind == AuditKind.ANNOTATIONS:
        return conditions(connection, wanted & ACCEPTED)
    return [*conditions(connection, wanted), JobRow.kind.in_(RUNS), EpisodeRow.ending != Ending.INFRA_ERROR]


def draw_audit(
    database: Database,
    name: str,
    wanted: Filter,
    size: int,
    seed: int,
    kind: AuditKind = AuditKind.ANNOTATIONS,
    twice: float = 0.0,
) -> list[SampledEpisode]:
    """Draw a sample of what the filter chooses, and keep it under a new name; `twice`: the share two people label.

    Raises SpecError when the name is taken or not valid, when nothing fits, when `size` is less than the strata, or
    when `twice` is not a share.
    """
    check_name(name)
    with database.engine.connect() as connection:
        _refuse_taken(connection, name)
        strata = strata_of(connection, wanted, kind)
    population = sum(map(len, strata.values()))
    if not population:
        raise _nothing_fits(wanted, kind)
    drawn = draw(strata, size, seed, twice)
    audit = {"name": name, "query": str(wanted), "seed": seed, "population": population, "kind": kind, "twice": twice}
    try:
        with database.writer.begin() as connection:
            connection.execute(insert(Audit).values(**audit, created_at=now()))
            connection.execute(
                insert(AuditSample),
                [
                    {
                        "audit": name,
                        "place": one.place,
                        "episode": one.episode,
                        "stratum": one.stratum,
                        "weight": one.weight,
                        "labels_wanted": one.labels_wanted,
                        "labels_left": one.labels_wanted,
                    }
                    for one in drawn
                ],
            )
    except IntegrityError:
        with database.engine.connect() as connection:
            _refuse_taken(connection, name)  # another process drew one of this name meanwhile
        raise SpecError("A drawn episode was removed meanwhile: draw the audit again.") from None
    return drawn


def check_name(name: str) -> None:
    """Raises SpecError for a name that no audit can have: it is a part of an address, beside those of the pages."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or storable(name)[1]:
        raise SpecError(f"'{name[:40]}' is not a name for an audit: give 1 to {MAX_NAME} printable characters.")
    if "/" in name or name in ("new", ".", ".."):
        raise SpecError(f"'{name}' is not a name for an audit: give one without a slash, and not new, '.' or '..'.")


def _nothing_fits(wanted: Filter, kind: AuditKind) -> SpecError:
    if kind == AuditKind.RUNS:
        return SpecError(
            f"No run answers '{wanted}': an audit of runs is drawn from finished episodes of evaluations and "
            "inferences that no failure of infrastructure has ended."
        )
    return SpecError(
        f"No accepted annotation answers '{wanted}': an audit is drawn from episodes with a check level "
        "that no verdict rejects. To draw from evaluations and inferences, say that it is of runs."
    )


def _refuse_taken(connection: Connection, name: str) -> None:
    if connection.execute(select(Audit.name).where(Audit.name == name)).first():
        raise SpecError(f"An audit '{name}' exists already. See it with: lumos audit report {name}")


def get_audit(connection: Connection, name: str) -> Any:
    """The audit's row. Raises SpecError when there is none, and names the newest ones."""
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
        select(
            AuditSample.__table__, Item.job, Item.ordinal, newest_score(connection).label("score"), JobRow.main_metric
        )
        .join(Item, Item.id == AuditSample.episode)
        .join(JobRow, JobRow.id == Item.job)
        .join(EpisodeRow, EpisodeRow.id == AuditSample.episode)
        .where(AuditSample.audit == audit)
        .order_by(AuditSample.place)
    )
    return [
        Sampled(
            row.place,
            row.episode,
            f"{row.job}-{row.ordinal}",
            row.stratum,
            row.weight,
            labels.get(row.episode, {}),
            side_of(row.score, row.main_metric),
            row.labels_left,
        )
        for row in rows
    ]


def next_of(samples: Sequence[Sampled], labeller: str, divided: bool = False) -> Sampled | None:
    """The first place that the labeller has not labelled.

    `divided`: people divide the places among them, so one that needs a label comes before all others.
    """
    own = [one for one in samples if labeller not in one.labels]
    needed = (one for one in own if one.labels_left) if divided else iter(())
    return next(needed, own[0] if own else None)
