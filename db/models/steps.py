"""The tables of an attempt's steps, and of what they refer to by digest."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Index, LargeBinary, text
from sqlmodel import Field

from db.models.base import Base, Key, Mapped, instant, json, long_text, refers

_IS_EMPTY = text("reply = ''")


class StepKey(Base):
    """The place of a step: no two steps of an attempt have the same."""

    episode: Mapped[int] = Field(sa_type=Key, primary_key=True, foreign_key="episode.id", ondelete="CASCADE")
    attempt: Mapped[int] = Field(primary_key=True)
    position: Mapped[int] = Field(primary_key=True)
    branch: Mapped[int] = Field(primary_key=True)
    command: Mapped[bytes] = Field(sa_type=LargeBinary)  # the first 16 bytes of the command's digest


class TreeKey(StepKey):
    """Of a step that may lie in a tree."""

    parent: Mapped[int | None] = Field(
        default=None
    )  # position of the step it comes after, -1 at the root; null: no tree


class SubgoalRow(StepKey, table=True):
    """What the planner wanted."""

    __tablename__ = "subgoal"
    number: Mapped[int]
    text: Mapped[str] = long_text()


class CompletionRow(TreeKey, table=True):
    """One model call. The prompt is `prefix` (by digest), or the prompt of the completion at `base`, plus `delta`.

    The task's question is left out of `delta`, where it goes at character `question_at`.
    """

    __tablename__ = "completion"
    # PostgreSQL's condition is in migration 0021: to name it here would import its dialect with each command.
    __table_args__ = (Index("completion_empty_index", "episode", sqlite_where=_IS_EMPTY),)
    role: Mapped[str]
    prompt_digest: Mapped[bytes] = Field(sa_type=LargeBinary)  # the first 16 bytes of the whole prompt's sha256
    base: Mapped[int | None] = Field(default=None)  # position of the earlier completion whose prompt this one continues
    prefix: Mapped[str | None] = Field(default=None)  # digest in `text_block`
    delta: Mapped[str] = long_text()
    delta_block: Mapped[str | None] = Field(default=None)  # digest in `text_block` of a long delta, which is then empty
    question_at: Mapped[int | None] = Field(default=None)  # null: the question is not in it, or left where it is
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
    candidates: Mapped[Any] = json(nullable=True)  # [text, logprob] of each, best first; null: none were asked for
    reasoning: Mapped[str | None] = long_text(nullable=True)  # what the model thought before it replied; null: nothing
    reasoning_tokens: Mapped[int | None] = Field(default=None)  # of completion_tokens, where the server counts them
    message: Mapped[str | None] = long_text(nullable=True)  # what the server sent; null: it is the reply


class ExecutionRow(TreeKey, table=True):
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
    provenance: Mapped[str] = Field(default="")  # recorded, simulated, synthetic, live; empty: of before it was kept


class Approval(StepKey, table=True):
    """What a person was asked to approve. The one step that is not recorded with its result: a person gives it."""

    __tablename__ = "approval"
    shown: Mapped[str] = long_text()
    answer: Mapped[str] = Field(default="")  # yes, no; empty: none yet
    note: Mapped[str] = long_text()  # the person's
    who: Mapped[str] = Field(default="")
    asked_at: Mapped[float] = instant(nullable=False)
    answered_at: Mapped[float | None] = instant()  # null: not yet, or when it was asked (`--yes`)


class Artifact(Base, table=True):
    """Bytes that tasks and executions refer to by digest: images."""

    __tablename__ = "artifact"
    digest: Mapped[str] = Field(primary_key=True)  # sha256
    media_type: Mapped[str]
    data: Mapped[bytes] = Field(sa_column=Column(LargeBinary, nullable=False))


class EpisodeArtifact(Base, table=True):
    """An artifact that the steps of an episode name."""

    __tablename__ = "episode_artifact"
    __table_args__ = (Index("episode_artifact_digest_index", "digest"),)
    episode: Mapped[int] = refers("episode.id", primary_key=True, autoincrement=False)
    digest: Mapped[str] = Field(primary_key=True, foreign_key="artifact.digest")


class DatasetArtifact(Base, table=True):
    """An artifact that the tasks of a dataset name. It is written before the dataset is."""

    __tablename__ = "dataset_artifact"
    __table_args__ = (Index("dataset_artifact_digest_index", "digest"),)
    dataset: Mapped[str] = Field(primary_key=True)
    digest: Mapped[str] = Field(primary_key=True, foreign_key="artifact.digest")


class TextBlock(Base, table=True):
    """A long text, or one that many prompts begin with, stored once and compressed (db/text_blocks.py)."""

    __tablename__ = "text_block"
    digest: Mapped[str] = Field(primary_key=True)
    data: Mapped[bytes] = Field(sa_column=Column(LargeBinary, nullable=False))


#: The tables of steps, by the kind of command they keep.
STEPS = {"note": SubgoalRow, "ask": CompletionRow, "do": ExecutionRow, "call": ToolCallRow, "approve": Approval}
