"""Finding finished episodes, and streaming them whole, in the order of their ids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Float, Select, bindparam, func, literal, or_, select, text

from db.connection import Database, clock, numbers
from db.damage import MAX_SECONDS, find_spec_damage
from db.filter_sql import Condition, conditions, newest_score
from db.filters import Filter
from db.models import EpisodeRow, Item, JobEndpoint, JobRow, ScoreRow, SubgoalRow, TaskRow, VerdictRow
from db.step_records import RecordedStep, load_steps
from lumos_queue.records import Task, Verdict
from lumos_queue.scoring.limit import AtLimit, at_limit_of

#: Ids that a stream finds at once: a filter that must read every step is then asked a few times, not for each chunk.
IDS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """A finished episode with everything that is stored of it. Written `JOB-ORDINAL` for people: `name`."""

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
    level: str  #: how an annotation was checked (records.LEVELS); empty: none, or none accepted
    attempt: int  #: the accepted one, which `steps` are of
    ending: str
    answer: str | None
    message: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    finished_at: float | None  #: seconds since 1970
    scores: Mapping[str, float] = field(default_factory=dict)  #: by metric; of several versions the newest
    verdicts: Sequence[Verdict] = ()
    endpoints: Mapping[str, str] = field(default_factory=dict)  #: role to URL, as of the job's latest slice
    at_limit: str = AtLimit.WRONG  #: what its answer counts where it ended as `limit` (lumos_queue/scoring/limit.py)
    steps: Sequence[RecordedStep] = ()
    main_metric: str = ""  #: the one of `scores` that it is first judged by
    #: Of the benchmark that its job made of a file (benchmarks/from_file), as the job's request has it; None: of none.
    definition: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        return f"{self.job}-{self.ordinal}"


@contextmanager
def reading(database: Database) -> Iterator[Connection]:
    """A transaction that sees one state of the database and cannot write: the database itself refuses."""
    with database.engine.connect() as connection:
        if database.is_sqlite:
            connection.execute(text("PRAGMA query_only = ON"))
        else:
            # Compiling an expression takes longer than these statements do.
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
            connection.execute(text("SET LOCAL jit = off"))
        try:
            yield connection
        finally:
            if database.is_sqlite:
                connection.execute(text("PRAGMA query_only = OFF"))


def find_episodes(
    connection: Connection, wanted: Filter, after: int = 0, limit: int = 100, most: int | None = None
) -> list[Any]:
    """A page of finished episodes by id, from the first one after `after`; pass on the last id for the next page.

    Rows with: id, job, ordinal, benchmark, row, question, gold, sample, formulation, agent, origin, level, split,
    licence, parent, ending, answer, message, calls, prompt_tokens, completion_tokens, finished_at, score.
    `most`: characters of question, answer and message that are read, for lists; None: all.
    """
    # The page first, as a separate query: what is shown of an episode is looked up for these few only.
    return show_episodes(connection, select_ids(conditions(connection, wanted), after, limit), most)


def show_episodes(connection: Connection, page: Select[int], most: int | None = None) -> list[Any]:
    """Rows as `find_episodes` gives them, of the episodes whose ids the statement selects."""
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
        "calls",
        "prompt_tokens",
        "completion_tokens",
        "finished_at",
    )
    texts: list[Any] = [EpisodeRow.answer, EpisodeRow.message, TaskRow.question]
    if most is not None:
        texts = [func.substr(one, 1, most).label(one.key) for one in texts]
    found = page.subquery()
    shown = (
        select(*(getattr(EpisodeRow, name) for name in names), Item.ordinal, JobRow.benchmark)
        .add_columns(*texts, TaskRow.row, TaskRow.gold, newest_score(connection).label("score"))
        .join(found, found.c.id == EpisodeRow.id)
        .join(Item, Item.id == EpisodeRow.id)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .join(TaskRow, TaskRow.id == EpisodeRow.task)
        .order_by(EpisodeRow.id)
    )
    return list(connection.execute(shown))


def count_subgoals(connection: Connection, episodes: Sequence[int]) -> dict[int, int]:
    """How many subgoals each of these episodes has, of its accepted attempt; those without any are left out."""
    of_accepted = (SubgoalRow.episode == EpisodeRow.id, SubgoalRow.attempt == EpisodeRow.attempt)
    counted = select(SubgoalRow.episode, func.count()).where(*of_accepted).group_by(SubgoalRow.episode)
    rows = connection.execute(counted.where(EpisodeRow.id.op("IN")(_IDS)), {"ids": json.dumps(list(episodes))})
    return {episode: count for episode, count in rows}


def place_of(connection: Connection, job: str, ordinal: int) -> int:
    """The id of the job's last episode up to that ordinal, to go on after; 0 when there is none."""
    # By the order of an index, and not as a maximum, for which all items up to there would be read.
    last = select(Item.id).where(Item.job == job, Item.ordinal <= ordinal).order_by(Item.ordinal.desc()).limit(1)
    return connection.execute(last).scalar() or 0


def _latest_end(connection: Connection) -> float:
    """Return the time now, or the end of the last job where the database's clock was set back after it."""
    times = JobRow.finished_at < MAX_SECONDS  # a damaged row may have any value
    last = connection.execute(select(func.max(JobRow.finished_at)).where(times)).scalar()
    return max(clock(connection), last or 0.0)


def stream_episodes(database: Database, wanted: Filter, chunk: int = 200) -> Iterator[StoredEpisode]:
    """Every finished episode that meets the filter, by id, with its steps; what finishes meanwhile is left out.

    Each chunk is read in its own transaction, which is over before its episodes are returned: memory stays the same
    however many there are, and a slow reader blocks nothing.
    """
    with reading(database) as connection:
        began = _latest_end(connection)
        met = conditions(connection, wanted)
    met.append(or_(EpisodeRow.finished_at.is_(None), EpisodeRow.finished_at <= literal(began, Float)))
    after = 0
    while True:
        with reading(database) as connection:
            ids = list(connection.execute(select_ids(met, after, IDS_AT_ONCE)).scalars())
        for start in range(0, len(ids), chunk):
            with reading(database) as connection:
                episodes = load_episodes(connection, ids[start : start + chunk])
            yield from episodes
        if len(ids) < IDS_AT_ONCE:
            return
        after = ids[-1]


def select_ids(met: Sequence[Condition], after: int, limit: int) -> Select[int]:
    return select(EpisodeRow.id).where(EpisodeRow.id > after, *met).order_by(EpisodeRow.id).limit(limit)


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
    """These episodes whole, by id. A few hundred at a time: each comes with all its prompts."""
    sent = {"ids": json.dumps(list(ids))}
    rows = list(connection.execute(_EPISODES, sent))
    scores: dict[int, dict[str, tuple[str, float]]] = {}
    for episode, metric, version, value in connection.execute(_SCORES.where(ScoreRow.episode.op("IN")(_IDS)), sent):
        newest = scores.setdefault(episode, {})
        newest[metric] = max(newest.get(metric, ("", value)), (version, value))
    verdicts: dict[int, list[Verdict]] = {}
    for row in connection.execute(_VERDICTS.where(VerdictRow.episode.op("IN")(_IDS)), sent):
        verdicts.setdefault(row.episode, []).append(Verdict(row.module, row.name, row.detail, row.rejects))
    endpoints = _endpoints(connection, {row.job for row in rows})
    specs = _specs(connection, {row.job for row in rows})
    steps = load_steps(connection, {row.id: row.attempt for row in rows})
    made = {"task", "scores", "verdicts", "endpoints", "at_limit", "steps", "definition"}
    copied = StoredEpisode.__dataclass_fields__.keys() - made
    return [
        StoredEpisode(
            **{name: getattr(row, name) for name in copied},
            task=Task(row.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold),
            scores={metric: value for metric, (_, value) in scores.get(row.id, {}).items()},
            verdicts=tuple(verdicts.get(row.id, ())),
            endpoints=endpoints[row.job],
            at_limit=at_limit_of(specs[row.job]),
            steps=tuple(steps[row.id]),
            definition=specs[row.job].get("infer", specs[row.job]).get("definition"),
        )
        for row in rows
    ]


def _endpoints(connection: Connection, jobs: set[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {job: {} for job in jobs}
    wanted = select(JobEndpoint.job, JobEndpoint.role, JobEndpoint.url).where(JobEndpoint.job.in_(jobs))
    for job, role, url in connection.execute(wanted.order_by(JobEndpoint.id)):
        found[job][role] = url
    return found


def _specs(connection: Connection, jobs: set[str]) -> dict[str, dict[str, Any]]:
    """The requests of the jobs; of a damaged one nothing."""
    rows = connection.execute(select(JobRow.id, JobRow.spec).where(JobRow.id.in_(jobs)))
    return {job: {} if find_spec_damage(spec) else spec for job, spec in rows}


def count_up_to(connection: Connection, wanted: Filter, limit: int) -> int:
    """How many finished episodes meet the filter, but counted only up to `limit`."""
    found = select_ids(conditions(connection, wanted), 0, limit).order_by(None).subquery()
    return connection.execute(select(func.count()).select_from(found)).scalar_one()
