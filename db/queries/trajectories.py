"""Find finished episodes, and stream them whole, in the order of their ids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Float, Select, bindparam, func, literal, or_, select

from db.engine.conditions import Value
from db.engine.connection import Database, clock, numbers
from db.engine.snapshot import reading
from db.journal.step_records import RecordedStep, load_steps
from db.kinds.totals import EpisodeTotals
from db.models import EpisodeRow, Item, JobEndpoint, JobRow, ScoreRow, SubgoalRow, TaskRow, VerdictRow
from db.models.totals import read_totals
from db.queries.damage import MAX_SECONDS, find_spec_damage
from db.queries.filter_sql import Condition, conditions, newest_score
from db.queries.filters import Filter
from lumos_queue.records import Json, Task, Verdict
from lumos_queue.scoring.limit import AtLimit, at_limit_of

#: Ids that a stream reads at once: a filter that must read every step then runs a few times, not for each chunk.
IDS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """A finished episode with all of its stored rows. People know it as `name`, JOB-ORDINAL."""

    id: int
    job: str
    ordinal: int
    task: Task  #: with its gold answer
    sample: int
    formulation: str
    agent: str  #: digest
    origin: str  #: run, converted, imported, corrected
    split: str
    licence: str
    parent: int | None  #: the episode that it corrects
    level: str  #: how an annotation was checked (records.LEVELS); empty: no accepted annotation
    attempt: int  #: the accepted one, to which `steps` belong
    ending: str
    answer: str | None
    message: str
    totals: EpisodeTotals
    finished_at: float | None  #: seconds since 1970
    #: by metric, from the newest version of the scorer
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    verdicts: Sequence[Verdict] = ()
    endpoints: Mapping[str, str] = field(default_factory=dict[str, str])  #: role to URL, as of the job's latest slice
    at_limit: str = AtLimit.WRONG  #: how its answer counts if it ended as `limit` (lumos_queue/scoring/limit.py)
    steps: Sequence[RecordedStep] = ()
    main_metric: str = ""  #: the metric of `scores` that it is mainly judged by
    #: The definition of a benchmark from a file (benchmarks/from_file) in the job's request; None: another benchmark.
    definition: Mapping[str, Any] | None = None
    spec: Mapping[str, Any] = field(default_factory=dict[str, Any])  #: the request of its job; {}: it is damaged

    @property
    def name(self) -> str:
        return f"{self.job}-{self.ordinal}"


@dataclass(frozen=True, slots=True)
class ListedEpisode:
    """A finished episode without its steps. Each field is a column of `show_episodes`, in this order."""

    id: int
    job: str
    sample: int
    formulation: str
    agent: str
    origin: str
    level: str
    split: str
    licence: str
    parent: int | None
    ending: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    finished_at: float | None
    ordinal: int
    benchmark: str
    answer: str | None
    message: str
    question: str
    row: str  #: of its task
    gold: Json
    score: float | None  #: by the main metric of its job


def find_episodes(
    connection: Connection, query: Filter, after: int = 0, limit: int = 100, max_characters: int | None = None
) -> list[ListedEpisode]:
    """Return the first `limit` finished episodes with ids after `after` that meet the filter, in the order of ids.

    For the next page, pass the last id as `after`. `max_characters`: how many characters of question, answer and
    message are read; None: all.
    """
    # The page is a separate query, so that the displayed columns are read for these few episodes only.
    return show_episodes(connection, select_ids(conditions(connection, query), after, limit), max_characters)


def show_episodes(connection: Connection, page: Select[int], max_characters: int | None = None) -> list[ListedEpisode]:
    """Return the episodes whose ids the statement `page` selects."""
    names = (
        "id",
        "job",
        "sample",
        "formulation",
        "agent",
        "origin",
        "level",
        "split",
        "licence",
        "parent",
        "ending",
        *EpisodeTotals._fields,
        "finished_at",
    )
    texts: list[Value] = [EpisodeRow.answer, EpisodeRow.message, TaskRow.question]
    if max_characters is not None:
        texts = [func.substr(column, 1, max_characters) for column in texts]
    ids = page.subquery()
    query = (
        select(*(getattr(EpisodeRow, name) for name in names), Item.ordinal, JobRow.benchmark)
        .add_columns(*texts, TaskRow.row, TaskRow.gold, newest_score(connection).label("score"))
        .join(ids, ids.c.id == EpisodeRow.id)
        .join(Item, Item.id == EpisodeRow.id)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .join(TaskRow, TaskRow.id == EpisodeRow.task)
        .order_by(EpisodeRow.id)
    )
    return [ListedEpisode(*row) for row in connection.execute(query)]


def count_subgoals(connection: Connection, episodes: Sequence[int]) -> dict[int, int]:
    """Count the subgoals in the accepted attempt of each of these episodes. Episodes without subgoals are left out."""
    of_accepted = (SubgoalRow.episode == EpisodeRow.id, SubgoalRow.attempt == EpisodeRow.attempt)
    query = select(SubgoalRow.episode, func.count()).where(*of_accepted).group_by(SubgoalRow.episode)
    rows = connection.execute(query.where(EpisodeRow.id.op("IN")(_IDS)), {"ids": json.dumps(list(episodes))})
    return {episode: count for episode, count in rows}


def find_cursor(connection: Connection, job: str, ordinal: int) -> int:
    """Return the id of the job's last episode up to that ordinal, to continue after it; 0 if there is none."""
    # The order of an index gives the last one; a maximum would read all items up to it.
    last = select(Item.id).where(Item.job == job, Item.ordinal <= ordinal).order_by(Item.ordinal.desc()).limit(1)
    return connection.execute(last).scalar() or 0


def _latest_end(connection: Connection) -> float:
    """Return the time now, or the end of the last job if that is later because the database's clock was set back."""
    times = JobRow.finished_at < MAX_SECONDS  # a damaged row may have any value
    last = connection.execute(select(func.max(JobRow.finished_at)).where(times)).scalar()
    return max(clock(connection), last or 0.0)


def stream_episodes(database: Database, query: Filter, chunk: int = 200) -> Iterator[StoredEpisode]:
    """Yield the finished episodes that meet the filter, in the order of ids, with their steps.

    Episodes that finish after the first read are skipped. Each chunk is read in its own transaction, which ends before
    the chunk's episodes are yielded. So memory does not grow with the number of episodes, and a slow reader blocks no
    writer.
    """
    with reading(database) as connection:
        start_time = _latest_end(connection)
        filter_conditions = conditions(connection, query)
    filter_conditions.append(
        or_(EpisodeRow.finished_at.is_(None), EpisodeRow.finished_at <= literal(start_time, Float))
    )
    after = 0
    while True:
        with reading(database) as connection:
            ids = list(connection.execute(select_ids(filter_conditions, after, IDS_AT_ONCE)).scalars())
        for start in range(0, len(ids), chunk):
            with reading(database) as connection:
                episodes = load_episodes(connection, ids[start : start + chunk])
            yield from episodes
        if len(ids) < IDS_AT_ONCE:
            return
        after = ids[-1]


def select_ids(filter_conditions: Sequence[Condition], after: int, limit: int) -> Select[int]:
    return select(EpisodeRow.id).where(EpisodeRow.id > after, *filter_conditions).order_by(EpisodeRow.id).limit(limit)


_IDS = numbers(bindparam("ids"))
_EPISODES = (
    select(EpisodeRow.__table__, Item.ordinal, JobRow.benchmark, JobRow.main_metric)
    .add_columns(TaskRow.dataset, TaskRow.row, TaskRow.question, TaskRow.inputs, TaskRow.gold)
    .join(Item, Item.id == EpisodeRow.id)
    .join(JobRow, JobRow.id == EpisodeRow.job)
    .join(TaskRow, TaskRow.id == EpisodeRow.task)
    .where(EpisodeRow.id.op("IN")(_IDS))
    .order_by(EpisodeRow.id)
)
_SCORES = select(ScoreRow.episode, ScoreRow.metric, ScoreRow.version, ScoreRow.value)
_VERDICTS = select(VerdictRow.__table__).order_by(VerdictRow.module, VerdictRow.name)


def load_episodes(connection: Connection, ids: Sequence[int]) -> list[StoredEpisode]:
    """Load these episodes with all their rows, in the order of ids.

    Load at most a few hundred episodes at a time, because each has all its prompts.
    """
    parameters = {"ids": json.dumps(list(ids))}
    rows = list(connection.execute(_EPISODES, parameters))
    scores: dict[int, dict[str, tuple[str, float]]] = {}
    for episode, metric, version, value in connection.execute(
        _SCORES.where(ScoreRow.episode.op("IN")(_IDS)), parameters
    ):
        newest = scores.setdefault(episode, {})
        newest[metric] = max(newest.get(metric, ("", value)), (version, value))
    verdicts: dict[int, list[Verdict]] = {}
    for row in connection.execute(_VERDICTS.where(VerdictRow.episode.op("IN")(_IDS)), parameters):
        verdicts.setdefault(row.episode, []).append(Verdict(row.module, row.name, row.detail, row.rejects))
    endpoints = _endpoints(connection, {row.job for row in rows})
    specs = _specs(connection, {row.job for row in rows})
    steps = load_steps(connection, {row.id: row.attempt for row in rows})
    computed_fields = {"task", "totals", "scores", "verdicts", "endpoints", "at_limit", "steps", "definition", "spec"}
    row_fields = StoredEpisode.__dataclass_fields__.keys() - computed_fields
    return [
        StoredEpisode(
            **{name: getattr(row, name) for name in row_fields},
            task=Task(row.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold),
            totals=read_totals(row),
            scores={metric: value for metric, (_, value) in scores.get(row.id, {}).items()},
            verdicts=tuple(verdicts.get(row.id, ())),
            endpoints=endpoints[row.job],
            at_limit=at_limit_of(specs[row.job]),
            steps=tuple(steps[row.id]),
            definition=specs[row.job].get("infer", specs[row.job]).get("definition"),
            spec=specs[row.job],
        )
        for row in rows
    ]


def _endpoints(connection: Connection, jobs: set[str]) -> dict[str, dict[str, str]]:
    endpoints: dict[str, dict[str, str]] = {job: {} for job in jobs}
    query = select(JobEndpoint.job, JobEndpoint.role, JobEndpoint.url).where(JobEndpoint.job.in_(jobs))
    for job, role, url in connection.execute(query.order_by(JobEndpoint.id)):
        endpoints[job][role] = url
    return endpoints


def _specs(connection: Connection, jobs: set[str]) -> dict[str, dict[str, Any]]:
    """Return the requests of the jobs, by job; {} for a damaged request."""
    rows = connection.execute(select(JobRow.id, JobRow.spec).where(JobRow.id.in_(jobs)))
    return {job: {} if find_spec_damage(spec) else spec for job, spec in rows}


def count_up_to(connection: Connection, query: Filter, limit: int) -> int:
    """Count the finished episodes that meet the filter, up to `limit`."""
    ids = select_ids(conditions(connection, query), 0, limit).order_by(None).subquery()
    return connection.execute(select(func.count()).select_from(ids)).scalar_one()
