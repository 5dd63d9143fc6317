"""The tables of episodes, their attempts, and the judgements of them."""

from __future__ import annotations

from sqlalchemy import Column, Index
from sqlmodel import Field

from db.models.base import Base, Key, Mapped, instant, json, long_text, refers
from db.models.totals import TotalColumns


class EpisodeRow(TotalColumns, table=True):
    """One try at one task. It has its item's key; `ending` is empty until a result is accepted."""

    __tablename__ = "episode"
    __table_args__ = (
        Index("episode_job_index", "job", "id"),  # pages of a job's episodes, in their order
        Index("episode_task_index", "task", "job", "sample"),  # pairs of two jobs
    )
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
    level: Mapped[str] = Field(default="")  # how an annotation was checked; empty: no accepted annotation
    attempt: Mapped[int] = Field(default=1)  # the accepted one
    ending: Mapped[str] = Field(default="")
    answer: Mapped[str | None] = long_text(nullable=True)
    message: Mapped[str] = long_text()
    seconds: Mapped[float] = Field(default=0.0)  # in the process that finished it
    started_at: Mapped[float | None] = instant()
    finished_at: Mapped[float | None] = instant()


class EndingHistory(Base, table=True):
    """An ending that was taken back (`lumos resume`), with its judgements. The episode then continued."""

    __tablename__ = "ending_history"
    episode: Mapped[int] = refers("episode.id", primary_key=True, autoincrement=False)
    number: Mapped[int] = Field(primary_key=True)  # from 1
    ending: Mapped[str]
    message: Mapped[str] = long_text()
    answer: Mapped[str | None] = long_text(nullable=True)
    attempt: Mapped[int]
    scores: Mapped[list[dict[str, object]]] = json()  # [{metric, version, value, trials, detail}]
    verdicts: Mapped[list[dict[str, object]]] = json()  # [{module, name, rejects, detail}]
    finished_at: Mapped[float | None] = instant()
    replaced_at: Mapped[float] = instant(nullable=False)


class Attempt(Base, table=True):
    """One journal of an episode. A new attempt begins only when replay finds that the code yields other commands."""

    __tablename__ = "attempt"
    episode: Mapped[int] = refers("episode.id", primary_key=True, autoincrement=False)
    number: Mapped[int] = Field(primary_key=True)
    code_version: Mapped[str]
    started_at: Mapped[float] = instant(nullable=False)


class ScoreRow(Base, table=True):
    """A judgement about an episode by one version of a scorer."""

    __tablename__ = "score"
    episode: Mapped[int] = refers("episode.id", primary_key=True, autoincrement=False)
    metric: Mapped[str] = Field(primary_key=True)
    version: Mapped[str] = Field(primary_key=True)
    value: Mapped[float]  # from 0 to 1
    # that the value is the mean of: the steps of an episode that is judged by step
    trials: Mapped[int] = Field(default=1)
    detail: Mapped[str] = long_text()


class VerdictRow(Base, table=True):
    """A filter's verdict on an annotated episode, for the training row of one module."""

    __tablename__ = "verdict"
    episode: Mapped[int] = refers("episode.id", primary_key=True, autoincrement=False)
    module: Mapped[str] = Field(primary_key=True)  # planner, grounder
    name: Mapped[str] = Field(primary_key=True)
    rejects: Mapped[bool]
    detail: Mapped[str] = long_text()
