"""The tables of what people say of episodes."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Text
from sqlmodel import Field

from db.models.base import Base, Mapped, instant, key, long_text, refers


class Audit(Base, table=True):
    """A stratified sample of accepted annotations, drawn for people to judge."""

    __tablename__ = "audit"
    name: Mapped[str] = Field(primary_key=True)
    query: Mapped[str] = long_text()  # which episodes it was drawn from
    seed: Mapped[int]
    population: Mapped[int]  # episodes that answered the query
    created_at: Mapped[float] = instant(nullable=False)


class Scoring(Base, table=True):
    """A scorer that was run on a job's stored episodes: which code gave the scores of this metric and version."""

    __tablename__ = "scoring"
    job: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True, nullable=False)
    )
    metric: Mapped[str] = Field(primary_key=True)
    version: Mapped[str] = Field(primary_key=True)
    scorer: Mapped[str]
    code: Mapped[str]  # distribution, version and digest of a plug-in; the project's version of a built-in one
    scored_by: Mapped[str]
    scored_at: Mapped[float] = instant(nullable=False)  # the latest time


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
    value: Mapped[str]  # right, wrong, unsure; or a rating of the whole episode, 1 to 10
    note: Mapped[str] = long_text()
    labeller: Mapped[str]
    audit: Mapped[str | None] = Field(default=None)
    labelled_at: Mapped[float] = instant(nullable=False)


class WebAction(Base, table=True):
    """What a person did in the explorer: rows are only added."""

    __tablename__ = "web_action"
    id: Mapped[int] = key()
    at: Mapped[float] = instant(nullable=False)
    person: Mapped[str]
    action: Mapped[str]  # pause, requeue, label, ...
    target: Mapped[str]  # the job, episode, audit or build
    detail: Mapped[str] = long_text()
