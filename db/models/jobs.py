"""The tables of jobs: the data they work on, their requests and their items."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ForeignKey, Index, Text, UniqueConstraint
from sqlmodel import Field

from db.kinds.states import ItemState, JobState
from db.models.base import Base, Key, Mapped, instant, json, key, long_text, partial_index
from lumos_queue.records import JsonObject


class Dataset(Base, table=True):
    """The rows of one benchmark file, stored so that every worker on any machine can read them. The key is a digest."""

    __tablename__ = "dataset"
    digest: Mapped[str] = Field(primary_key=True)  # sha256 of the rows in order
    benchmark: Mapped[str]
    split: Mapped[str]
    licence: Mapped[str]
    rows: Mapped[int]
    file_sha256: Mapped[str] = Field(default="")  # of the file that the rows were read from; '': not known
    published: Mapped[str] = Field(default="")  # the name of the published file, or `generated`; '': unknown
    complete: Mapped[bool] = Field(default=True)  # False: its rows are being stored, or storing them was interrupted
    created_at: Mapped[float] = instant(nullable=False)


class TaskRow(Base, table=True):
    """One question, with its inputs and its gold answer."""

    __tablename__ = "task"
    __table_args__ = (UniqueConstraint("dataset", "ordinal"),)
    id: Mapped[int] = key()
    dataset: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("dataset.digest", ondelete="CASCADE"), nullable=False)
    )
    ordinal: Mapped[int]  # position in the file, from 0
    row: Mapped[str]  # the row's own id
    question: Mapped[str] = long_text()
    inputs: Mapped[dict[str, object]] = json()
    gold: Mapped[object] = json(nullable=True)


class JobRow(Base, table=True):
    """A job: its request, which never changes, and its state. Submitting an equal request finds the row by `digest`."""

    __tablename__ = "job"
    __table_args__ = (Index("job_digest_index", "digest"),)
    id: Mapped[str] = Field(primary_key=True)  # eight letters and digits
    kind: Mapped[str]  # convert, train, infer, evaluate
    pool: Mapped[str]  # cpu, llm, gpu
    digest: Mapped[str]
    spec: Mapped[dict[str, Any]] = json()
    dataset: Mapped[str | None] = Field(
        default=None, sa_column=Column(Text, ForeignKey("dataset.digest"), nullable=True)
    )
    benchmark: Mapped[str]
    formulation: Mapped[str] = Field(default="")
    agent: Mapped[str] = Field(default="")  # digest of the agent
    items: Mapped[int]
    ordered: Mapped[bool] = Field(default=False)  # each item waits for the one before it
    state: Mapped[str] = Field(default=JobState.QUEUED.value)  # a JobState
    waiting: Mapped[str] = long_text()  # why the job waits, as text; empty: it does not wait
    awaits: Mapped[str | None] = Field(default=None)  # the job whose result it needs: it waits until that job ends
    not_before_at: Mapped[float] = instant(nullable=False)
    waits: Mapped[int] = Field(default=0)  # times in a row that it had to wait; 0 again when an item finishes
    project: Mapped[str]
    submitted_by: Mapped[str]
    priority: Mapped[int] = Field(default=0)
    concurrency: Mapped[int] = Field(default=0)  # episodes in flight in one process; 0: the number in its settings
    origin: Mapped[str] = Field(default="run")  # of its episodes
    licence: Mapped[str] = Field(default="")
    split: Mapped[str] = Field(default="")
    seed: Mapped[int] = Field(default=0)
    code_version: Mapped[str]
    created_at: Mapped[float] = instant(nullable=False)
    started_at: Mapped[float | None] = instant()
    finished_at: Mapped[float | None] = instant()
    name: Mapped[str] = Field(default="")  # what its submitter calls it; not part of the digest
    parent: Mapped[str | None] = Field(default=None)  # the job that it reruns or extends
    main_metric: Mapped[str] = Field(default="")  # the metric of its `score`; not part of the digest
    # that it needs, as submitted; null: submitted before there were plug-ins
    plugins: Mapped[list[dict[str, Any]] | None] = json(nullable=True)
    chosen: Mapped[str] = long_text()  # the filter that selected its tasks from the parent's; empty: no filter


class JobTag(Base, table=True):
    """A tag KEY=VALUE that a submitter gave a job. It is not part of the digest."""

    __tablename__ = "job_tag"
    __table_args__ = (Index("job_tag_value_index", "key", "value"),)
    job: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True, nullable=False)
    )
    key: Mapped[str] = Field(primary_key=True)
    value: Mapped[str]


class JobEndpoint(Base, table=True):
    """The identity that an endpoint of a job reported, each time it changed."""

    __tablename__ = "job_endpoint"
    id: Mapped[int] = key()
    job: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), nullable=False, index=True)
    )
    role: Mapped[str]
    url: Mapped[str]
    identity: Mapped[JsonObject] = json()
    seen_at: Mapped[float] = instant(nullable=False)


class Item(Base, table=True):
    """One unit of a job's work: an episode, a training window or a row."""

    __tablename__ = "item"
    __table_args__ = (
        UniqueConstraint("job", "ordinal"),
        # For claims: items that are done are not in this index.
        partial_index("item_owed_index", "job", "batch", "ordinal", where=f"state = '{ItemState.OWED}'"),
        partial_index("item_claimed_index", "session", where=f"state = '{ItemState.CLAIMED}'"),
        partial_index("item_awaiting_index", "job", where=f"state = '{ItemState.AWAITING}'"),
        partial_index("item_problem_index", "job", where="problem <> ''"),
    )
    id: Mapped[int] = key()
    job: Mapped[str] = Field(sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), nullable=False))
    ordinal: Mapped[int]
    task: Mapped[int | None] = Field(
        default=None, sa_column=Column(Key, ForeignKey("task.id"), nullable=True, index=True)
    )
    sample: Mapped[int] = Field(default=0)
    state: Mapped[str] = Field(default=ItemState.OWED.value)  # an ItemState
    claim: Mapped[int] = Field(default=0)  # goes up with every claim; a write with an older number is refused
    session: Mapped[int | None] = Field(default=None, sa_column=Column(Key, nullable=True))
    not_before_at: Mapped[float] = instant(nullable=False)
    failures: Mapped[int] = Field(default=0)  # rounds of tries in which a server failed it and answered others
    deaths: Mapped[int] = Field(default=0)  # processes that died while it was all they held
    batch: Mapped[int] = Field(default=0)  # of a suspect: how many items may run together; 0: not a suspect
    problem: Mapped[str] = long_text()  # the latest failure, as text
    output: Mapped[object] = json(nullable=True)  # of kinds that have no episode: a training window's figures
