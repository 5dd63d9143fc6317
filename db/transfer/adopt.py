"""Adopt finished episodes: a job on the same rows gets copies of another job's episodes, with their steps and scores.

An adopted item is done and was never claimed. This distinguishes it from the job's own items.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from sqlalchemy import ColumnElement, Connection, Table, TextClause, and_, func, insert, literal, select, text, update
from sqlalchemy.orm import aliased

from db.engine.conditions import Query
from db.engine.connection import numbers
from db.kinds.states import HIDDEN, ItemState, JobState
from db.kinds.totals import EpisodeTotals
from db.models import (
    STEPS,
    Attempt,
    EpisodeArtifact,
    EpisodeRow,
    Item,
    JobEndpoint,
    JobRow,
    ScoreRow,
    Scoring,
    VerdictRow,
)
from db.models.totals import read_totals, sum_columns
from db.queries.damage import sound_jobs
from db.queue.job_changes import lock_job
from db.queue.stored_jobs import StoredJob, read_jobs, select_jobs
from db.queue.sums import add_counted
from db.transfer.repeats import Store, store_first
from lumos_queue.errors import SpecError
from lumos_queue.records import Ending

#: Endings that say nothing about the agent.
NO_RESULT = ("", Ending.INFRA_ERROR.value, Ending.CANCELLED.value)
MANY = 200  #: items whose episodes are copied in the first transaction; each has many rows of steps
#: Tables with rows of one attempt, and those with rows of an episode.
_EPISODES: Table = EpisodeRow.__table__
_OF_ATTEMPT: tuple[Table, ...] = (Attempt.__table__, *(step.__table__ for step in STEPS.values()))
_OF_EPISODE: tuple[Table, ...] = (ScoreRow.__table__, VerdictRow.__table__, EpisodeArtifact.__table__)
_PAIR = ("target", "episode", "attempt")


@dataclass(frozen=True, slots=True)
class Source:
    """A job, and which of its finished episodes are adopted: those of this code version and agent."""

    job: str
    tasks: int  #: of the job; its items are ordered by sample, then by task
    code_version: str  #: of the code that began the accepted attempt
    agent: str  #: digest


@dataclass(frozen=True, slots=True)
class AdoptedTotals:
    """The number of a job's adopted episodes, and their cost in the job that made them."""

    episodes: int
    totals: EpisodeTotals


def count_adoptable(connection: Connection, source: Source, tasks: int, samples: int) -> int:
    """Return how many episodes a job with this many tasks and samples would adopt."""
    old = aliased(Item)
    within = (old.ordinal % source.tasks < tasks, old.sample < samples)
    query = select(func.count()).select_from(old).join(EpisodeRow, EpisodeRow.id == old.id)
    return connection.execute(_add_conditions(query, old, source).where(old.job == source.job, *within)).scalar_one()


def store_adopting(source: Source, dataset: str, tasks: int) -> Store:
    """Return a function that stores a new job's items on a dataset's first tasks, and copies the source's episodes.

    An item whose episode is copied is done at once.
    """
    store_items = store_first(dataset, tasks)

    def store(connection: Connection, job: str, first: int, last: int) -> None:
        if lock_job(connection, source.job) is None:  # nobody resumes or removes it meanwhile
            raise SpecError(f"Job {source.job} was removed while its episodes were being copied.")
        store_items(connection, job, first, last)
        if first == 0:
            _copy_endpoints(connection, source.job, job)
            _copy_scorings(connection, source.job, job)
        pairs = _pair(connection, source, job, tasks, first, last)
        if not pairs:
            return
        parameters = {"pairs": json.dumps(pairs)}
        for table in (_EPISODES, *_OF_ATTEMPT, *_OF_EPISODE):
            table_parameters = parameters | {"job": job} if table is _EPISODES else parameters
            connection.execute(_copy(connection.dialect.name, table), table_parameters)
        is_adopted = Item.id.op("IN")(numbers(literal(json.dumps([target for target, *_ in pairs]))))
        connection.execute(update(Item).where(is_adopted).values(state=ItemState.DONE))
        add_counted(connection, 0, and_(Item.job == job, Item.ordinal >= first, Item.ordinal < last))

    return store


def find_adopted(connection: Connection, job: str) -> AdoptedTotals:
    """Sum up the episodes that a job has adopted: items that are done and were never claimed."""
    row = connection.execute(
        select(func.count().label("episodes"), *sum_columns(EpisodeRow))
        .select_from(Item)
        .join(EpisodeRow, EpisodeRow.id == Item.id)
        .where(Item.job == job, Item.state == ItemState.DONE, Item.claim == 0)
    ).one()
    return AdoptedTotals(row.episodes, read_totals(row))


def _add_conditions(query: Query, old: type[Item], source: Source) -> Query:
    """Add the conditions under which the episode (EpisodeRow) of the item `old` may be adopted."""
    is_accepted_attempt = and_(Attempt.episode == EpisodeRow.id, Attempt.number == EpisodeRow.attempt)
    return query.join(Attempt, is_accepted_attempt).where(
        old.state == ItemState.DONE,
        EpisodeRow.ending.not_in(NO_RESULT),
        EpisodeRow.agent == source.agent,
        Attempt.code_version == source.code_version,
    )


def _pair(
    connection: Connection, source: Source, job: str, tasks: int, first: int, last: int
) -> list[tuple[int, int, int]]:
    """Return (item of the new job, episode of the source, its accepted attempt) for each adopted episode."""
    new, old = aliased(Item), aliased(Item)
    same: ColumnElement[bool] = and_(
        old.job == source.job,
        old.ordinal == new.sample * source.tasks + new.ordinal % tasks,
        new.ordinal % tasks < source.tasks,
        old.task == new.task,
        old.sample == new.sample,
    )
    query = select(new.id, EpisodeRow.id, EpisodeRow.attempt).join_from(new, old, same)
    query = _add_conditions(query.join(EpisodeRow, EpisodeRow.id == old.id), old, source)
    rows = connection.execute(query.where(new.job == job, new.ordinal >= first, new.ordinal < last))
    return [(target, episode, attempt) for target, episode, attempt in rows]


def _copy_endpoints(connection: Connection, source: str, job: str) -> None:
    """Copy the identities that the source's endpoints reported."""
    names = ("role", "url", "identity", "seen_at")
    identities = select(literal(job), *(getattr(JobEndpoint, name) for name in names)).where(JobEndpoint.job == source)
    connection.execute(insert(JobEndpoint).from_select(["job", *names], identities.order_by(JobEndpoint.id)))


def _copy_scorings(connection: Connection, source: str, job: str) -> None:
    """Copy the records of the scorers that gave the copied scores: they can then judge the job's own episodes, too."""
    names = ("metric", "version", "scorer", "code", "scored_by", "scored_at")
    scorings = select(literal(job), *(getattr(Scoring, name) for name in names)).where(Scoring.job == source)
    connection.execute(insert(Scoring).from_select(["job", *names], scorings))
    main = select(JobRow.main_metric).where(JobRow.id == source).scalar_subquery()
    connection.execute(update(JobRow).where(JobRow.id == job, JobRow.main_metric == "").values(main_metric=main))


@cache
def _copy(dialect: str, table: Table) -> TextClause:
    """Return the SQL that copies a table's rows of some episodes.

    Its parameter `:pairs` is a JSON list of (target, episode, attempt).
    """
    names = [column.name for column in table.columns]
    key = "id" if table is _EPISODES else "episode"
    replacements = {key: 'p."target"'} | ({"job": ":job"} if table is _EPISODES else {})
    values = ", ".join(replacements.get(name, f's."{name}"') for name in names)
    same = f's."{key}" = p."episode"'
    if table in _OF_ATTEMPT:
        number = "number" if table is Attempt.__table__ else "attempt"
        same += f' AND s."{number}" = p."attempt"'
    if dialect == "postgresql":
        parts = ", ".join(f'CAST(r.value ->> {index} AS bigint) AS "{name}"' for index, name in enumerate(_PAIR))
        pairs = f"SELECT {parts} FROM json_array_elements(CAST(:pairs AS json)) AS r(value)"
    else:
        parts = ", ".join(f"r.value ->> '$[{index}]' AS \"{name}\"" for index, name in enumerate(_PAIR))
        pairs = f"SELECT {parts} FROM json_each(:pairs) AS r"
    columns = ", ".join(f'"{name}"' for name in names)
    return text(
        f'INSERT INTO "{table.name}" ({columns}) SELECT {values} FROM ({pairs}) AS p JOIN "{table.name}" AS s ON {same}'
    )


def find_twins(connection: Connection, kind: str, dataset: str, agent: str, code_version: str) -> list[StoredJob]:
    """Return the newest 20 jobs of this kind, dataset, agent and code. Their other settings may differ."""
    stopped_states = (*HIDDEN, JobState.CANCELLING)
    conditions = (JobRow.dataset == dataset, JobRow.agent == agent, JobRow.kind == kind, JobRow.chosen == "")
    query = select_jobs().where(*conditions, JobRow.code_version == code_version, JobRow.state.not_in(stopped_states))
    return sound_jobs(read_jobs(connection.execute(query.order_by(JobRow.created_at.desc(), JobRow.id).limit(20))))
