"""Audits as rows: the sample, and its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, insert, select

from db.engine.connection import Database, now
from db.engine.whole_rows import read_row
from db.models import Audit, AuditSample, EpisodeRow, Item, JobRow, Label
from db.queries.damage import find_value_damage
from db.queries.filter_sql import newest_score
from db.queries.filters import Filter
from db.queue.web_actions import PersonAction
from db.review.audit_strata import strata_of
from lumos_queue.errors import ConstraintViolated, SpecError
from lumos_queue.scoring.annotation_strata import DEFAULT_KEYS, StratumKey
from lumos_queue.scoring.sampling import AuditKind, SampledEpisode, sample_strata, side_of
from lumos_queue.util.sanitize import storable

MAX_NAME = 80  #: of an audit's name


@dataclass(frozen=True, slots=True)
class StoredAudit:
    """The values of an audit's row, which db/models/review.py explains."""

    name: str
    query: str
    seed: int
    population: int
    created_at: float
    kind: str
    twice: float
    strata: str


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
    #: labeller to the kind of fault, if the label names it
    kinds: dict[str, str] = field(default_factory=dict[str, str])


def sample_audit(
    database: Database,
    name: str,
    query: Filter,
    size: int,
    seed: int,
    kind: AuditKind = AuditKind.ANNOTATIONS,
    twice: float = 0.0,
    action: PersonAction | None = None,
    keys: Sequence[StratumKey] = DEFAULT_KEYS,
    at_least: int = 1,
) -> list[SampledEpisode]:
    """Draw a sample of the episodes that meet the filter, and store it under a new name.

    `twice`: the share of the sample that two people label. `action` is recorded with the audit. `keys`: the properties
    that name the strata of annotations, beside the benchmark. `at_least`: the members of each stratum.

    Raises SpecError when the name is used already or not valid, when no episode meets the filter, when `size` is too
    small for the strata, when `twice` is not a share, or when an audit of runs has other `keys` than the default.
    """
    check_name(name)
    if kind == AuditKind.RUNS and tuple(keys) != DEFAULT_KEYS:
        raise SpecError("Runs are stratified by score and number of subgoals: leave out --by, or --runs.")
    with database.engine.connect() as connection:
        _refuse_taken(connection, name)
        strata = strata_of(connection, query, kind, keys)
    population = sum(map(len, strata.values()))
    if not population:
        raise _no_match_error(query, kind)
    sample = sample_strata(strata, size, seed, twice, at_least)
    audit = {"name": name, "query": str(query), "seed": seed, "population": population, "kind": kind, "twice": twice}
    audit["strata"] = "" if tuple(keys) == DEFAULT_KEYS else ",".join(keys)
    try:
        with database.writer.begin() as connection:
            connection.execute(insert(Audit).values(**audit, created_at=now()))
            if action:
                detail = f"{len(sample):,} of {kind} where '{query}', seed {seed}, {twice:g} of them twice"
                detail += f", by {audit['strata']}" if audit["strata"] else ""
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
    except ConstraintViolated:
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


def get_audit(connection: Connection, name: str) -> StoredAudit:
    """Return the audit with this name.

    Raises SpecError for a damaged row, and for an unknown name, for which it lists the newest audits.
    """
    row = read_row(connection, Audit, select(Audit.__table__).where(Audit.name == name))
    if row is None:
        names = connection.execute(select(Audit.name).order_by(Audit.created_at.desc()).limit(10)).scalars().all()
        hint = f"The newest audits are: {', '.join(names)}." if names else "Draw one with: lumos audit draw NAME"
        raise SpecError(f"No audit is called '{name}'. {hint}")
    if problem := find_value_damage(Audit.__table__, row):
        raise SpecError(f"The audit '{name}' is damaged: {problem}. Bring its row back from a copy of the database.")
    return StoredAudit(row.name, row.query, row.seed, row.population, row.created_at, row.kind, row.twice, row.strata)


def samples_of(connection: Connection, audit: str) -> list[AuditSlot]:
    """Return the places of an audit in order. Labels that people gave outside this audit do not count."""
    labels: dict[int, dict[str, str]] = {}
    kinds: dict[int, dict[str, str]] = {}
    query = select(Label.episode, Label.labeller, Label.value, Label.wrong_kind).where(
        Label.episode.in_(select(AuditSample.episode).where(AuditSample.audit == audit)),
        Label.audit == audit,
        Label.position.is_(None),
    )
    for episode, labeller, value, kind in connection.execute(query.order_by(Label.id)):
        labels.setdefault(episode, {})[labeller] = value
        kinds.setdefault(episode, {})[labeller] = kind
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
            {labeller: kind for labeller, kind in kinds.get(row.episode, {}).items() if kind},
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
