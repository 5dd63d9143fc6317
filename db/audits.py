"""Audits as rows: the sample, and its labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import IntegrityError

from db.conditions import Condition
from db.connection import Database, now
from db.damage import find_value_damage
from db.filter_sql import conditions, newest_score
from db.filters import Filter, Term
from db.models import Audit, AuditSample, EpisodeRow, Item, JobRow, Label, SubgoalRow
from db.web_actions import PersonAction
from lumos_queue.errors import SpecError
from lumos_queue.records import Ending
from lumos_queue.scoring.sampling import AuditKind, SampledEpisode, sample_strata, side_of, stratum_of, stratum_of_run
from lumos_queue.util.sanitize import storable

MAX_NAME = 80  #: of an audit's name
#: An audit of annotations measures the acceptance check: it samples annotations that the check accepted for both
#: modules. An annotation that is rejected for one module keeps the level that it reached for the other.
ACCEPTED = Filter((Term("level", ">=", "format"), Term("verdict", "=", "accepted")))
RUNS = ("evaluate", "infer")  #: kinds of jobs whose episodes are runs


@dataclass(frozen=True, slots=True)
class AuditSlot:
    """One place of an audit, with the newest label of each labeller."""

    number: int
    episode: int
    name: str  #: JOB-NUMBER
    stratum: str
    weight: float
    labels: dict[str, str]  #: labeller to label
    score: float | None = None  #: by the main metric; a judge's grade counts as 1 or 0, by its side of the middle
    labels_left: int = 1  #: labels that it still needs


def strata_of(connection: Connection, query: Filter, kind: AuditKind = AuditKind.ANNOTATIONS) -> dict[str, list[int]]:
    """Return the ids of the episodes that meet the filter and can be sampled, by stratum."""
    subgoals = (
        select(func.count())
        .where(SubgoalRow.episode == EpisodeRow.id, SubgoalRow.attempt == EpisodeRow.attempt)
        .scalar_subquery()
    )
    judgement: Any = newest_score(connection) if kind == AuditKind.RUNS else EpisodeRow.level
    name: Callable[[str, Any, int], str] = stratum_of_run if kind == AuditKind.RUNS else stratum_of
    rows = connection.execute(
        select(EpisodeRow.id, JobRow.benchmark, judgement, subgoals, JobRow.main_metric)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(*_members(connection, query, kind))
        .order_by(EpisodeRow.id)
        .execution_options(yield_per=1000)
    )
    strata: dict[str, list[int]] = {}
    for episode, benchmark, value, count, metric in rows:
        side: Any = side_of(value, metric) if kind == AuditKind.RUNS else value
        strata.setdefault(name(benchmark, side, count), []).append(episode)
    return strata


def count_members(connection: Connection, query: Filter, kind: AuditKind, limit: int) -> int:
    """Return the size of an audit's population, or `limit` + 1 if it is larger than `limit`."""
    members = (
        select(EpisodeRow.id)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(*_members(connection, query, kind))
        .limit(limit + 1)
        .subquery()
    )
    return connection.execute(select(func.count()).select_from(members)).scalar_one()


def _members(connection: Connection, query: Filter, kind: AuditKind) -> list[Condition]:
    """Return the conditions for accepted annotations, or for runs that no failure of infrastructure ended."""
    if kind == AuditKind.ANNOTATIONS:
        return conditions(connection, query & ACCEPTED)
    return [*conditions(connection, query), JobRow.kind.in_(RUNS), EpisodeRow.ending != Ending.INFRA_ERROR]


def sample_audit(
    database: Database,
    name: str,
    query: Filter,
    size: int,
    seed: int,
    kind: AuditKind = AuditKind.ANNOTATIONS,
    twice: float = 0.0,
    action: PersonAction | None = None,
) -> list[SampledEpisode]:
    """Draw a sample of the episodes that meet the filter, and store it under a new name.

    `twice`: the share of the sample that two people label. `action` is recorded with the audit.

    Raises SpecError when the name is used already or not valid, when no episode meets the filter, when `size` is less
    than the number of strata, or when `twice` is not a share.
    """
    check_name(name)
    with database.engine.connect() as connection:
        _refuse_taken(connection, name)
        strata = strata_of(connection, query, kind)
    population = sum(map(len, strata.values()))
    if not population:
        raise _no_match_error(query, kind)
    sample = sample_strata(strata, size, seed, twice)
    audit = {"name": name, "query": str(query), "seed": seed, "population": population, "kind": kind, "twice": twice}
    try:
        with database.writer.begin() as connection:
            connection.execute(insert(Audit).values(**audit, created_at=now()))
            if action:
                detail = f"{len(sample):,} of {kind} where '{query}', seed {seed}, {twice:g} of them twice"
                action.record(connection, detail)
            connection.execute(
                insert(AuditSample),
                [
                    {
                        "audit": name,
                        "place": member.number,
                        "episode": member.episode,
                        "stratum": member.stratum,
                        "weight": member.weight,
                        "labels_wanted": member.labels_wanted,
                        "labels_left": member.labels_wanted,
                    }
                    for member in sample
                ],
            )
    except IntegrityError:
        with database.engine.connect() as connection:
            _refuse_taken(connection, name)  # another process has stored an audit of this name meanwhile
        raise SpecError("An episode of the sample was removed meanwhile: draw the audit again.") from None
    return sample


def check_name(name: str) -> None:
    """Raise SpecError for an invalid name. A name is part of a web address, so it must not be that of a page."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or storable(name)[1]:
        raise SpecError(f"'{name[:40]}' is not a name for an audit: give 1 to {MAX_NAME} printable characters.")
    if "/" in name or name in ("new", ".", ".."):
        raise SpecError(
            f"'{name}' is not a name for an audit: give a name without a slash, other than new, '.' and '..'."
        )


def _no_match_error(query: Filter, kind: AuditKind) -> SpecError:
    if kind == AuditKind.RUNS:
        return SpecError(
            f"No run matches '{query}': an audit of runs is drawn from finished episodes of evaluations and "
            "inferences that no failure of infrastructure has ended."
        )
    return SpecError(
        f"No accepted annotation matches '{query}': an audit is drawn from episodes with a check level "
        "that no verdict rejects. To draw from evaluations and inferences, draw an audit of runs."
    )


def _refuse_taken(connection: Connection, name: str) -> None:
    if connection.execute(select(Audit.name).where(Audit.name == name)).first():
        raise SpecError(f"An audit '{name}' exists already. See it with: lumos audit report {name}")


def get_audit(connection: Connection, name: str) -> Any:
    """Return the audit's row.

    Raises SpecError for a damaged row, and for an unknown name, for which it lists the newest audits.
    """
    row = connection.execute(select(Audit.__table__).where(Audit.name == name)).first()
    if row is None:
        names = connection.execute(select(Audit.name).order_by(Audit.created_at.desc()).limit(10)).scalars().all()
        hint = f"The newest audits are: {', '.join(names)}." if names else "Draw one with: lumos audit draw NAME"
        raise SpecError(f"No audit is called '{name}'. {hint}")
    if problem := find_value_damage(Audit.__table__, row):
        raise SpecError(f"The audit '{name}' is damaged: {problem}. Bring its row back from a copy of the database.")
    return row


def samples_of(connection: Connection, audit: str) -> list[AuditSlot]:
    """Return the places of an audit in order. Labels that people gave outside this audit do not count."""
    labels: dict[int, dict[str, str]] = {}
    query = select(Label.episode, Label.labeller, Label.value).where(
        Label.episode.in_(select(AuditSample.episode).where(AuditSample.audit == audit)),
        Label.audit == audit,
        Label.position.is_(None),
    )
    for episode, labeller, value in connection.execute(query.order_by(Label.id)):
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
        AuditSlot(
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


def next_of(samples: Sequence[AuditSlot], labeller: str, is_divided: bool = False) -> AuditSlot | None:
    """Return the first place that the labeller has not labelled; None if there is none.

    `is_divided`: people divide the places among them, so places that still need a label come first.
    """
    candidates = [sample for sample in samples if labeller not in sample.labels]
    open_samples = (sample for sample in candidates if sample.labels_left) if is_divided else iter(())
    return next(open_samples, candidates[0] if candidates else None)
