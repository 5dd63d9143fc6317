"""The tables of people's judgements of episodes, and of scorers that ran on stored episodes."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, ForeignKeyConstraint, Text
from sqlmodel import Field

from db.models.base import Base, Mapped, instant, key, long_text, partial_index, refers


class Audit(Base, table=True):
    """A stratified sample of accepted annotations or of runs, drawn for people to judge."""

    __tablename__ = "audit"
    name: Mapped[str] = Field(primary_key=True)
    query: Mapped[str] = long_text()  # the filter of the episodes that it was drawn from
    seed: Mapped[int]
    population: Mapped[int]  # episodes that met the filter
    created_at: Mapped[float] = instant(nullable=False)
    kind: Mapped[str] = Field(default="annotations")  # an AuditKind
    twice: Mapped[float] = Field(default=0.0)  # share of its places that two people label
    #: Names of the properties that name its strata beside the benchmark, separated by commas; '': those of its kind.
    strata: Mapped[str] = Field(default="")


class Scoring(Base, table=True):
    """A scorer that was run on a job's stored episodes, with the digest of its code, by metric and version."""

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
    """One episode of an audit's sample. `place` is its number in the audit."""

    __tablename__ = "audit_sample"
    __table_args__ = (partial_index("audit_sample_left_index", "audit", "place", where="labels_left > 0"),)
    audit: Mapped[str] = Field(
        sa_column=Column(Text, ForeignKey("audit.name", ondelete="CASCADE"), primary_key=True, nullable=False)
    )
    place: Mapped[int] = Field(primary_key=True)  # from 1, in the order they are shown
    episode: Mapped[int] = refers("episode.id", index=True)
    stratum: Mapped[str]
    weight: Mapped[float]  # episodes of the population that this one stands for
    labels_wanted: Mapped[int] = Field(default=1)  # 2: two people label it
    labels_left: Mapped[int] = Field(default=1)  # labels that are still missing: the queue looks for them


class Reservation(Base, table=True):
    """A place of an audit that a person is looking at, or has skipped."""

    __tablename__ = "reservation"
    __table_args__ = (
        ForeignKeyConstraint(
            ["audit", "place"],
            ["audit_sample.audit", "audit_sample.place"],
            name="reservation_audit_place_fkey",
            ondelete="CASCADE",
        ),
    )
    audit: Mapped[str] = Field(sa_column=Column(Text, primary_key=True, nullable=False))
    place: Mapped[int] = Field(primary_key=True)
    person: Mapped[str] = Field(primary_key=True)
    token: Mapped[str]  # that the form sends back; empty: the reservation has ended
    expires_at: Mapped[float] = instant(nullable=False)
    skipped_at: Mapped[float | None] = instant()  # skipped places come last


class Label(Base, table=True):
    """A person's opinion of an episode, or of one of its steps. A person's newest label counts."""

    __tablename__ = "label"
    __table_args__ = (partial_index("label_audit_index", "audit", "episode", "labeller", where="audit IS NOT NULL"),)
    id: Mapped[int] = key()
    episode: Mapped[int] = refers("episode.id", index=True)
    position: Mapped[int | None] = Field(default=None)  # of a step; None: the whole episode
    branch: Mapped[int | None] = Field(default=None)
    value: Mapped[str]  # right, wrong, unsure; or a rating of the whole episode, 1 to 10
    note: Mapped[str] = long_text()
    labeller: Mapped[str]
    audit: Mapped[str | None] = Field(default=None)
    labelled_at: Mapped[float] = instant(nullable=False)
    wrong_position: Mapped[int | None] = Field(default=None)  # the wrong step, in a label of the whole episode
    wrong_branch: Mapped[int | None] = Field(default=None)
    wrong_kind: Mapped[str] = Field(default="")  # link, number, sub-question, result, wording; '': not named


class WebAction(Base, table=True):
    """A person's action in the explorer. Rows are only added."""

    __tablename__ = "web_action"
    id: Mapped[int] = key()
    at: Mapped[float] = instant(nullable=False)
    person: Mapped[str]
    action: Mapped[str]  # pause, requeue, label, ...
    target: Mapped[str]  # the job, episode, audit or build
    detail: Mapped[str] = long_text()
