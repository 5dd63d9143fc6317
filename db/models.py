"""Every table. SQLModel declares and reads; the hot path writes tuples (db/bulk.py).

All times are seconds since 1970 UTC by the database's clock (columns `…_at`); durations are seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import JSON
from sqlmodel import Field, SQLModel

from db.states import ItemState, JobState

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


if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.orm import Mapped
else:

    class Mapped:
        """`Mapped[int]` is a column to a type checker, as it is when queries are built; SQLModel wants plain `int`."""

        def __class_getitem__(cls, kind):
            return kind


class Base(SQLModel):
    """Its metadata is this project's alone: Alembic compares against it."""

    metadata = MetaData(naming_convention=NAMES)
    if TYPE_CHECKING:  # SQLModel makes these and does not declare them
        __tablename__: ClassVar[Any]
        __table__: ClassVar[Table]


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
    digest: Mapped[str] = Field(primary_key=True)  # sha256 of the rows in order
    benchmark: Mapped[str]
    split: Mapped[str]
    licence: Mapped[str]
    rows: Mapped[int]
    complete: Mapped[bool] = Field(default=True)  # False: its rows are still being stored, or that was cut off
    created_at: Mapped[float] = instant(nullable=False)


class TaskRow(Base, table=True):
    """One question, with its inputs and its gold answer."""

    __tablename__ = "task"
    __table_args__ = (UniqueConstraint("dataset", "ordinal"),)
    id: Mapped[int] = key()
    dataset: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("dataset.digest", ondelete="CASCADE"), nullable=False)
    )
    ordinal: Mapped[int]  # place in the file, from 0
    row: Mapped[str]  # the row's own id
    question: Mapped[str] = long_text()
    inputs: Mapped[Any] = json()
    gold: Mapped[Any] = json(nullable=True)


class JobRow(Base, table=True):
    """A frozen request. `digest` is its content: submitting the same again finds this row."""

    __tablename__ = "job"
    __table_args__ = (Index("job_digest_index", "digest"),)
    id: Mapped[str] = Field(primary_key=True)  # eight letters and digits
    kind: Mapped[str]  # convert, train, infer, evaluate
    pool: Mapped[str]  # cpu, llm, gpu
    digest: Mapped[str]
    spec: Mapped[Any] = json()
    dataset: Mapped[str | None] = Field(
        default=None, sa_column=Column(Text, ForeignKey("dataset.digest"), nullable=True)
    )
    benchmark: Mapped[str]
    formulation: Mapped[str] = Field(default="")
    agent: Mapped[str] = Field(default="")  # digest of the agent
    items: Mapped[int]
    ordered: Mapped[bool] = Field(default=False)  # each item waits for the one before it
    state: Mapped[str] = Field(default=JobState.QUEUED.value)
    waiting: Mapped[str] = long_text()  # what the job waits for, in words; empty when nothing
    not_before_at: Mapped[float] = instant(nullable=False)
    waits: Mapped[int] = Field(default=0)  # times in a row that it was put off; 0 again when an item finishes
    project: Mapped[str]
    submitted_by: Mapped[str]
    priority: Mapped[int] = Field(default=0)
    origin: Mapped[str] = Field(default="run")  # of its episodes
    licence: Mapped[str] = Field(default="")
    split: Mapped[str] = Field(default="")
    seed: Mapped[int] = Field(default=0)
    code_version: Mapped[str]
    created_at: Mapped[float] = instant(nullable=False)
    started_at: Mapped[float | None] = instant()
    finished_at: Mapped[float | None] = instant()


class JobEndpoint(Base, table=True):
    """What an endpoint of a job said it was, each time that changed."""

    __tablename__ = "job_endpoint"
    id: Mapped[int] = key()
    job: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), nullable=False, index=True)
    )
    role: Mapped[str]
    url: Mapped[str]
    identity: Mapped[Any] = json()
    seen_at: Mapped[float] = instant(nullable=False)


class WorkerSessionRow(Base, table=True):
    """A worker process's presence. Its row is the fence: every write of the process locks it first."""

    __tablename__ = "worker_session"
    id: Mapped[int] = key()
    host: Mapped[str]
    pid: Mapped[int]
    code_version: Mapped[str]
    started_at: Mapped[float] = instant(nullable=False)
    ended_at: Mapped[float | None] = instant()
    ended_by: Mapped[str] = Field(default="")  # itself, or the session that found it silent


class Heartbeat(Base, table=True):
    """Apart from the session's row, so that a heartbeat never waits for a write that holds the fence."""

    __tablename__ = "heartbeat"
    session: Mapped[int] = refers("worker_session.id", primary_key=True, autoincrement=False)
    at: Mapped[float] = instant(nullable=False)


class EndpointCap(Base, table=True):
    """How many requests an endpoint may have in flight, over all workers. Endpoints without a row have no cap."""

    __tablename__ = "endpoint_cap"
    url: Mapped[str] = Field(primary_key=True)
    requests: Mapped[int]


class EndpointShare(Base, table=True):
    """The part of an endpoint's cap that a worker process holds, leased to it with each heartbeat."""

    __tablename__ = "endpoint_share"
    session: Mapped[int] = refers("worker_session.id", primary_key=True, autoincrement=False)
    url: Mapped[str] = Field(primary_key=True)
    demand: Mapped[int]  # requests in flight and waiting, as of its last heartbeat
    share: Mapped[int]  # what it may have in flight
    held: Mapped[int]  # what it may still have in flight: not to be given to others


class Item(Base, table=True):
    """One piece of a job's work."""

    __tablename__ = "item"
    __table_args__ = (
        UniqueConstraint("job", "ordinal"),
        # What a claim looks for, however many items are done.
        Index("item_owed_index", "job", "batch", "ordinal", sqlite_where=text(f"state = '{ItemState.OWED}'"),
              postgresql_where=text(f"state = '{ItemState.OWED}'")),
        Index("item_claimed_index", "session", sqlite_where=text(f"state = '{ItemState.CLAIMED}'"),
              postgresql_where=text(f"state = '{ItemState.CLAIMED}'")),
    )  # fmt: skip
    id: Mapped[int] = key()
    job: Mapped[str] = Field(sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), nullable=False))
    ordinal: Mapped[int]
    task: Mapped[int | None] = Field(
        default=None, sa_column=Column(Key, ForeignKey("task.id"), nullable=True, index=True)
    )
    sample: Mapped[int] = Field(default=0)
    state: Mapped[str] = Field(default=ItemState.OWED.value)
    claim: Mapped[int] = Field(default=0)  # goes up with every claim; a write with an older number is refused
    session: Mapped[int | None] = Field(default=None, sa_column=Column(Key, nullable=True))
    not_before_at: Mapped[float] = instant(nullable=False)
    failures: Mapped[int] = Field(default=0)  # infrastructure failures so far
    deaths: Mapped[int] = Field(default=0)  # processes that died while it was all they held
    batch: Mapped[int] = Field(default=0)  # 0, or a suspect: how many items at most may run where it runs
    problem: Mapped[str] = long_text()  # the latest failure, in words
    output: Mapped[Any] = json(nullable=True)  # of kinds that have no episode: a training window's figures


class EpisodeRow(Base, table=True):
    """One try at one task. Shares its item's key; `ending` is empty until the one accepted result arrives."""

    __tablename__ = "episode"
    __table_args__ = (Index("episode_job_index", "job"), Index("episode_task_index", "task"))
    id: Mapped[int] = refers("item.id", primary_key=True, autoincrement=False)
    job: Mapped[str]
    task: Mapped[int] = Field(sa_column=Column(Key, nullable=False))
    sample: Mapped[int] = Field(default=0)
    formulation: Mapped[str] = Field(default="")
    agent: Mapped[str] = Field(default="")
    origin: Mapped[str] = Field(default="run")  # run, converted, derived, imported, corrected
    split: Mapped[str] = Field(default="")
    licence: Mapped[str] = Field(default="")
    parent: Mapped[int | None] = Field(default=None, sa_column=Column(Key, nullable=True))  # the episode it corrects
    level: Mapped[str] = Field(default="")  # how an annotation was checked; empty: none, or none accepted
    attempt: Mapped[int] = Field(default=1)  # the accepted one
    ending: Mapped[str] = Field(default="")
    answer: Mapped[str | None] = long_text(nullable=True)
    message: Mapped[str] = long_text()
    calls: Mapped[int] = Field(default=0, sa_type=Key)
    prompt_tokens: Mapped[int] = Field(default=0, sa_type=Key)
    completion_tokens: Mapped[int] = Field(default=0, sa_type=Key)
    seconds: Mapped[float] = Field(default=0.0)  # in the process that finished it
    started_at: Mapped[float | None] = instant()
    finished_at: Mapped[float | None] = instant()


class EndingHistory(Base, table=True):
    """An ending that was taken back, with its judgements: the episode was owed again (`lumos resume`)."""

    __tablename__ = "ending_history"
    episode: Mapped[int] = refers("episode.id", primary_key=True, autoincrement=False)
    number: Mapped[int] = Field(primary_key=True)  # from 1
    ending: Mapped[str]
    message: Mapped[str] = long_text()
    answer: Mapped[str | None] = long_text(nullable=True)
    attempt: Mapped[int]
    scores: Mapped[Any] = json()  # [{metric, version, value, trials, detail}]
    verdicts: Mapped[Any] = json()  # [{module, name, rejects, detail}]
    finished_at: Mapped[float | None] = instant()
    replaced_at: Mapped[float] = instant(nullable=False)


class Attempt(Base, table=True):
    """One journal of an episode; the next begins only when replay does not match the code."""

    __tablename__ = "attempt"
    episode: Mapped[int] = refers("episode.id", primary_key=True, autoincrement=False)
    number: Mapped[int] = Field(primary_key=True)
    code_version: Mapped[str]
    started_at: Mapped[float] = instant(nullable=False)


class StepKey(Base):
    """Where a step stands: no two steps of an attempt share a place."""

    episode: Mapped[int] = Field(sa_type=Key, primary_key=True, foreign_key="episode.id", ondelete="CASCADE")
    attempt: Mapped[int] = Field(primary_key=True)
    position: Mapped[int] = Field(primary_key=True)
    branch: Mapped[int] = Field(primary_key=True)
    command: Mapped[str]  # digest of the command


class SubgoalRow(StepKey, table=True):
    """What the planner wanted."""

    __tablename__ = "subgoal"
    number: Mapped[int]
    text: Mapped[str] = long_text()


class CompletionRow(StepKey, table=True):
    """One model call. The prompt is `prefix` (by digest), or the prompt of the completion at `base`, plus `delta`."""

    __tablename__ = "completion"
    role: Mapped[str]
    prompt_digest: Mapped[str]  # sha256 of the whole prompt
    base: Mapped[int | None] = Field(default=None)  # position of the earlier completion whose prompt this one continues
    prefix: Mapped[str | None] = Field(default=None)  # digest in `text_block`
    delta: Mapped[str] = long_text()
    delta_block: Mapped[str | None] = Field(default=None)  # digest in `text_block` of a long delta, which is then empty
    reply: Mapped[str] = long_text()
    finish_reason: Mapped[str]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    retries: Mapped[int]
    replaced: Mapped[int]  # characters of the reply that could not be stored
    seconds: Mapped[float]  # of the request that was answered
    waited: Mapped[float]  # before it was first sent, for a place among the requests in flight
    lost: Mapped[float]  # with tries that failed and the pauses after them
    queued: Mapped[float]  # of `seconds`, in the server's own queue, when the server says so
    note: Mapped[str] = long_text()  # images shown (sha256); what the server said that could not be taken; mostly empty


class ExecutionRow(StepKey, table=True):
    """One action and what happened when it ran."""

    __tablename__ = "execution"
    variables: Mapped[Any] = json()
    name: Mapped[str]
    arguments: Mapped[str] = long_text()
    raw: Mapped[str] = long_text()
    status: Mapped[str]
    result: Mapped[str] = long_text()
    result_block: Mapped[str | None] = Field(default=None)  # digest in `text_block` of a long result
    outputs: Mapped[Any] = json(nullable=True)  # one value for each variable
    outputs_block: Mapped[str | None] = Field(default=None)  # digest in `text_block` of long outputs, as JSON
    message: Mapped[str] = long_text()
    seconds: Mapped[float]


class ToolCallRow(StepKey, table=True):
    """A call of a tool outside, on the way of an action, and what it answered. Replays answer from here."""

    __tablename__ = "tool_call"
    __table_args__ = (Index("tool_call_command_index", "command"),)
    tool: Mapped[str]
    arguments: Mapped[Any] = json()
    status: Mapped[str]
    result: Mapped[str] = long_text()
    result_block: Mapped[str | None] = Field(default=None)
    outputs: Mapped[Any] = json(nullable=True)
    outputs_block: Mapped[str | None] = Field(default=None)
    message: Mapped[str] = long_text()
    seconds: Mapped[float]


class Artifact(Base, table=True):
    """Bytes that tasks refer to by digest: images."""

    __tablename__ = "artifact"
    digest: Mapped[str] = Field(primary_key=True)  # sha256
    media_type: Mapped[str]
    data: Mapped[bytes] = Field(sa_column=Column(LargeBinary, nullable=False))


class TextBlock(Base, table=True):
    """A long text, or one that many prompts begin with, stored once and compressed (db/text_blocks.py)."""

    __tablename__ = "text_block"
    digest: Mapped[str] = Field(primary_key=True)
    data: Mapped[bytes] = Field(sa_column=Column(LargeBinary, nullable=False))


class RefusedMessage(Base, table=True):
    """Messages of the broker that were thrown away unread, counted by reason."""

    __tablename__ = "refused_message"
    reason: Mapped[str] = Field(primary_key=True)
    messages: Mapped[int] = Field(sa_type=BigInteger)
    latest: Mapped[str] = long_text()  # what is known of the latest one
    latest_at: Mapped[float] = instant(nullable=False)


class ScoreRow(Base, table=True):
    """A judgement about an episode by one version of a scorer."""

    __tablename__ = "score"
    episode: Mapped[int] = refers("episode.id", primary_key=True, autoincrement=False)
    metric: Mapped[str] = Field(primary_key=True)
    version: Mapped[str] = Field(primary_key=True)
    value: Mapped[float]  # from 0 to 1
    trials: Mapped[int] = Field(default=1)  # of which it is the mean: the steps of an episode that is judged by step
    detail: Mapped[str] = long_text()


class VerdictRow(Base, table=True):
    """What a filter found in an annotated episode, for the training row of one module."""

    __tablename__ = "verdict"
    episode: Mapped[int] = refers("episode.id", primary_key=True, autoincrement=False)
    module: Mapped[str] = Field(primary_key=True)  # planner, grounder
    name: Mapped[str] = Field(primary_key=True)
    rejects: Mapped[bool]
    detail: Mapped[str] = long_text()


class Audit(Base, table=True):
    """A stratified sample of accepted annotations, drawn for people to judge."""

    __tablename__ = "audit"
    name: Mapped[str] = Field(primary_key=True)
    query: Mapped[str] = long_text()  # which episodes it was drawn from
    seed: Mapped[int]
    population: Mapped[int]  # episodes that answered the query
    created_at: Mapped[float] = instant(nullable=False)


class AuditSample(Base, table=True):
    """One drawn episode."""

    __tablename__ = "audit_sample"
    audit: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("audit.name", ondelete="CASCADE"), primary_key=True, nullable=False)
    )
    place: Mapped[int] = Field(primary_key=True)  # from 1, in the order they are shown
    episode: Mapped[int] = refers("episode.id")
    stratum: Mapped[str]
    weight: Mapped[float]  # episodes of the population that this one stands for


class Label(Base, table=True):
    """What a person says of an episode, or of one of its steps. Never overwritten: the newest of a person counts."""

    __tablename__ = "label"
    id: Mapped[int] = key()
    episode: Mapped[int] = refers("episode.id", index=True)
    position: Mapped[int | None] = Field(default=None)  # of a step; None: the whole episode
    branch: Mapped[int | None] = Field(default=None)
    value: Mapped[str]  # right, wrong, unsure
    note: Mapped[str] = long_text()
    labeller: Mapped[str]
    audit: Mapped[str | None] = Field(default=None)
    labelled_at: Mapped[float] = instant(nullable=False)


#: The tables of steps, by the kind of command they keep.
STEPS = {"note": SubgoalRow, "ask": CompletionRow, "do": ExecutionRow, "call": ToolCallRow}
