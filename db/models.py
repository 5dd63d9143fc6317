"""Every table. SQLModel declares and reads; the hot path writes tuples (db/rows.py).

All times are seconds since 1970 UTC by the database's clock (columns `…_at`); durations are seconds.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Integer, MetaData, Text, UniqueConstraint, text
from sqlalchemy.types import JSON
from sqlmodel import Field, SQLModel

#: SQLite only counts INTEGER PRIMARY KEY up by itself; PostgreSQL wants 64 bits.
Key = BigInteger().with_variant(Integer(), "sqlite")

#: Names for constraints, so that both databases and every migration agree on them.
NAMES = {
    "ix": "%(table_name)s_%(column_0_N_name)s_index",
    "uq": "%(table_name)s_%(column_0_N_name)s_key",
    "ck": "%(table_name)s_%(constraint_name)s_check",
    "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
    "pk": "%(table_name)s_pkey",
}


class Base(SQLModel):
    """Its metadata is this project's alone: Alembic compares against it."""

    metadata = MetaData(naming_convention=NAMES)


def key() -> Any:
    return Field(default=None, sa_column=Column(Key, primary_key=True, autoincrement=True))


def refers(target: str, **options: Any) -> Any:
    """A column that holds the key of another table's row and goes when that row goes."""
    primary = options.pop("primary_key", False)
    column = Column(Key, ForeignKey(target, ondelete="CASCADE"), primary_key=primary, nullable=False, **options)
    return Field(sa_column=column)


def long_text(nullable: bool = False) -> Any:
    return Field(default=None if nullable else "", sa_column=Column(Text, nullable=nullable))


def json(nullable: bool = False) -> Any:
    return Field(default=None, sa_column=Column(JSON, nullable=nullable))


def instant(nullable: bool = True) -> Any:
    return Field(default=None, sa_column=Column(Float, nullable=nullable))


class Dataset(Base, table=True):
    """The rows of one benchmark file, by content. Any worker on any machine finds them here."""

    __tablename__ = "dataset"
    digest: str = Field(primary_key=True)  # sha256 of the rows in order
    benchmark: str
    split: str
    licence: str
    rows: int
    created_at: float = instant(nullable=False)


class TaskRow(Base, table=True):
    """One question, with its inputs and its gold answer."""

    __tablename__ = "task"
    __table_args__ = (UniqueConstraint("dataset", "ordinal"),)
    id: int = key()
    dataset: str = Field(sa_column=Column(Text, ForeignKey("dataset.digest", ondelete="CASCADE"), nullable=False))
    ordinal: int  # place in the file, from 0
    row: str  # the row's own id
    question: str = long_text()
    inputs: Any = json()
    gold: Any = json(nullable=True)


class Job(Base, table=True):
    """A frozen request. `digest` is its content: submitting the same again finds this row."""

    __tablename__ = "job"
    __table_args__ = (Index("job_digest_index", "digest"),)
    id: str = Field(primary_key=True)  # eight letters and digits
    kind: str  # convert, train, infer, evaluate
    pool: str  # cpu, llm, gpu
    digest: str
    spec: Any = json()
    dataset: str | None = Field(default=None, sa_column=Column(Text, ForeignKey("dataset.digest"), nullable=True))
    benchmark: str
    formulation: str = ""
    agent: str = ""  # digest of the agent
    items: int
    ordered: bool = False  # each item waits for the one before it
    state: str = "queued"  # queued, running, paused, cancelling, cancelled, done
    waiting: str = long_text()  # what the job waits for, in words; empty when nothing
    not_before_at: float = instant(nullable=False)
    project: str
    submitted_by: str
    priority: int = 0
    origin: str = "run"  # run, imported, corrected
    licence: str = ""
    split: str = ""
    seed: int = 0
    code_version: str
    created_at: float = instant(nullable=False)
    started_at: float | None = instant()
    finished_at: float | None = instant()


class JobEndpoint(Base, table=True):
    """What an endpoint of a job said it was, each time that changed."""

    __tablename__ = "job_endpoint"
    id: int = key()
    job: str = Field(sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), nullable=False, index=True))
    role: str
    url: str
    identity: Any = json()
    seen_at: float = instant(nullable=False)


class WorkerSession(Base, table=True):
    """A worker process's presence. Its row is the fence: every write of the process locks it first."""

    __tablename__ = "worker_session"
    id: int = key()
    host: str
    pid: int
    code_version: str
    started_at: float = instant(nullable=False)
    ended_at: float | None = instant()
    ended_by: str = ""  # itself, or the session that found it silent


class Heartbeat(Base, table=True):
    """Apart from the session's row, so that a heartbeat never waits for a write that holds the fence."""

    __tablename__ = "heartbeat"
    session: int = refers("worker_session.id", primary_key=True, autoincrement=False)
    at: float = instant(nullable=False)


class Item(Base, table=True):
    """One piece of a job's work."""

    __tablename__ = "item"
    __table_args__ = (
        UniqueConstraint("job", "ordinal"),
        # What a claim looks for, however many items are done.
        Index("item_owed_index", "job", "ordinal", sqlite_where=text("state = 'owed'"),
              postgresql_where=text("state = 'owed'")),
        Index("item_claimed_index", "session", sqlite_where=text("state = 'claimed'"),
              postgresql_where=text("state = 'claimed'")),
    )  # fmt: skip
    id: int = key()
    job: str = Field(sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), nullable=False))
    ordinal: int
    task: int | None = Field(default=None, sa_column=Column(Key, ForeignKey("task.id"), nullable=True))
    sample: int = 0
    state: str = "owed"  # owed, claimed, done, cancelled
    claim: int = 0  # goes up with every claim; a write with an older number is refused
    session: int | None = Field(default=None, sa_column=Column(Key, nullable=True))
    not_before_at: float = instant(nullable=False)
    failures: int = 0  # infrastructure failures so far
    deaths: int = 0  # processes that died holding it
    problem: str = long_text()  # the latest failure, in words
    output: Any = json(nullable=True)  # of kinds that have no episode: a training window's figures


class EpisodeRow(Base, table=True):
    """One try at one task. Shares its item's key; `ending` is empty until the one accepted result arrives."""

    __tablename__ = "episode"
    __table_args__ = (Index("episode_job_index", "job"), Index("episode_task_index", "task"))
    id: int = refers("item.id", primary_key=True, autoincrement=False)
    job: str
    task: int = Field(sa_column=Column(Key, nullable=False))
    sample: int = 0
    formulation: str = ""
    agent: str = ""
    origin: str = "run"  # run, converted, imported, corrected
    split: str = ""
    licence: str = ""
    attempt: int = 1  # the accepted one
    ending: str = ""
    answer: str | None = long_text(nullable=True)
    message: str = long_text()
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = Field(default=0.0)  # in the process that finished it
    started_at: float | None = instant()
    finished_at: float | None = instant()


class Attempt(Base, table=True):
    """One journal of an episode; the next begins only when replay does not match the code."""

    __tablename__ = "attempt"
    episode: int = refers("episode.id", primary_key=True, autoincrement=False)
    number: int = Field(primary_key=True)
    code_version: str
    started_at: float = instant(nullable=False)


class StepKey(Base):
    """Where a step stands: no two steps of an attempt share a place."""

    episode: int = Field(sa_type=Key, primary_key=True, foreign_key="episode.id", ondelete="CASCADE")
    attempt: int = Field(primary_key=True)
    position: int = Field(primary_key=True)
    branch: int = Field(primary_key=True)
    command: str  # digest of the command


class SubgoalRow(StepKey, table=True):
    """What the planner wanted."""

    __tablename__ = "subgoal"
    number: int
    text: str = long_text()


class CompletionRow(StepKey, table=True):
    """One model call. The prompt is `prefix` (by digest), or the prompt of the completion at `base`, plus `delta`."""

    __tablename__ = "completion"
    role: str
    prompt_digest: str  # sha256 of the whole prompt
    base: int | None = None  # position of the earlier completion whose prompt this one continues
    prefix: str | None = None  # digest in `text_block`
    delta: str = long_text()
    reply: str = long_text()
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    retries: int
    replaced: int  # characters of the reply that could not be stored
    seconds: float


class ExecutionRow(StepKey, table=True):
    """One action and what happened when it ran."""

    __tablename__ = "execution"
    variables: Any = json()
    name: str
    arguments: str = long_text()
    raw: str = long_text()
    status: str
    result: str = long_text()
    outputs: Any = json()  # one value for each variable
    message: str = long_text()
    seconds: float


class TextBlock(Base, table=True):
    """A text that many prompts begin with, stored once."""

    __tablename__ = "text_block"
    digest: str = Field(primary_key=True)
    text: str = long_text()


class ScoreRow(Base, table=True):
    """A judgement about an episode by one version of a scorer."""

    __tablename__ = "score"
    episode: int = refers("episode.id", primary_key=True, autoincrement=False)
    metric: str = Field(primary_key=True)
    version: str = Field(primary_key=True)
    value: float
    detail: str = long_text()


#: The tables of steps, by the kind of command they keep.
STEPS = {"note": SubgoalRow, "ask": CompletionRow, "do": ExecutionRow}
