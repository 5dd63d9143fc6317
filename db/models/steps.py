"""The tables of an attempt's steps, and of contents that they refer to by digest."""

from __future__ import annotations

from sqlalchemy import Column, Index, LargeBinary, text
from sqlmodel import Field

from db.models.base import Base, Key, Mapped, instant, json, long_text, refers
from lumos_queue.records import JsonObject

_IS_EMPTY = text("reply = ''")


class StepKey(Base):
    """The columns that identify a step: each position and branch of an attempt has one step. `command` is a digest."""

    episode: Mapped[int] = Field(sa_type=Key, primary_key=True, foreign_key="episode.id", ondelete="CASCADE")
    attempt: Mapped[int] = Field(primary_key=True)
    position: Mapped[int] = Field(primary_key=True)
    branch: Mapped[int] = Field(primary_key=True)
    command: Mapped[bytes] = Field(sa_type=LargeBinary)  # the first 16 bytes of the command's digest


class TreeKey(StepKey):
    """The columns that identify a step that may be part of a tree. `parent` is the position of the preceding step."""

    # position of the step it comes after, -1 at the root; null: no tree
    parent: Mapped[int | None] = Field(default=None)


class SubgoalRow(StepKey, table=True):
    """A subgoal of the planner."""

    __tablename__ = "subgoal"
    number: Mapped[int]
    text: Mapped[str] = long_text()


class CompletionRow(TreeKey, table=True):
    """One model call. Its prompt is an earlier text followed by `delta`.

    The earlier text is the text block with the digest `prefix`, or the prompt of the completion at position `base`. The
    task's question is not in `delta`: reading inserts it at character `question_at`.
    """

    __tablename__ = "completion"
    # PostgreSQL's condition is in migration 0021, because it would import the dialect with each command here.
    __table_args__ = (Index("completion_empty_index", "episode", sqlite_where=_IS_EMPTY),)
    role: Mapped[str]
    prompt_digest: Mapped[bytes] = Field(sa_type=LargeBinary)  # the first 16 bytes of the whole prompt's sha256
    base: Mapped[int | None] = Field(default=None)  # position of the earlier completion whose prompt this one continues
    prefix: Mapped[str | None] = Field(default=None)  # digest in `text_block`
    delta: Mapped[str] = long_text()
    delta_block: Mapped[str | None] = Field(default=None)  # digest in `text_block` of a long delta, which is then empty
    question_at: Mapped[int | None] = Field(default=None)  # null: `delta` has no question, or keeps it
    reply: Mapped[str] = long_text()
    finish_reason: Mapped[str]
    prompt_tokens: Mapped[int]
    completion_tokens: Mapped[int]
    retries: Mapped[int]
    replaced: Mapped[int]  # characters of the reply that could not be stored
    seconds: Mapped[float]  # of the request that was answered
    waited: Mapped[float]  # before it was first sent, for a slot among the requests in flight
    lost: Mapped[float]  # with tries that failed and the pauses after them
    queued: Mapped[float]  # the part of `seconds` in the server's queue, if the server reports it
    # sha256 of images in the prompt; unusable parts of the server's reply; mostly empty
    note: Mapped[str] = long_text()
    # [text, logprob] of each, best first; null: none were requested
    candidates: Mapped[list[tuple[str, float]] | None] = json(nullable=True)
    reasoning: Mapped[str | None] = long_text(nullable=True)  # what the model thought before it replied; null: nothing
    reasoning_tokens: Mapped[int | None] = Field(default=None)  # of completion_tokens, where the server counts them
    message: Mapped[str | None] = long_text(nullable=True)  # the text that the server sent; null: it is the reply


class ExecutionRow(TreeKey, table=True):
    """One action and its result."""

    __tablename__ = "execution"
    variables: Mapped[list[str]] = json()
    name: Mapped[str]
    arguments: Mapped[str] = long_text()
    raw: Mapped[str] = long_text()
    status: Mapped[str]
    result: Mapped[str] = long_text()
    result_block: Mapped[str | None] = Field(default=None)  # digest in `text_block` of a long result
    outputs: Mapped[list[dict[str, object]]] = json(nullable=True)  # one value for each variable; null: in the block
    outputs_block: Mapped[str | None] = Field(default=None)  # digest in `text_block` of long outputs, as JSON
    message: Mapped[str] = long_text()
    seconds: Mapped[float]


class ToolCallRow(StepKey, table=True):
    """An action's call of an external tool, and the tool's answer. A replay uses this answer."""

    __tablename__ = "tool_call"
    __table_args__ = (Index("tool_call_command_index", "command"),)
    tool: Mapped[str]
    arguments: Mapped[JsonObject] = json()
    status: Mapped[str]
    result: Mapped[str] = long_text()
    result_block: Mapped[str | None] = Field(default=None)
    outputs: Mapped[list[dict[str, object]]] = json(nullable=True)
    outputs_block: Mapped[str | None] = Field(default=None)
    message: Mapped[str] = long_text()
    seconds: Mapped[float]
    # recorded, simulated, synthetic, live; empty: stored before there was this column
    provenance: Mapped[str] = Field(default="")


class Approval(StepKey, table=True):
    """A plan that a person is asked to approve. It is stored at once, and the person's answer, its result, later."""

    __tablename__ = "approval"
    shown: Mapped[str] = long_text()
    answer: Mapped[str] = Field(default="")  # yes, no; empty: none yet
    note: Mapped[str] = long_text()  # the person's
    who: Mapped[str] = Field(default="")
    asked_at: Mapped[float] = instant(nullable=False)
    answered_at: Mapped[float | None] = instant()  # null: no answer yet, or answered at once (`--yes`)


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
    """An artifact that the tasks of a dataset name. This row is written before the dataset's row."""

    __tablename__ = "dataset_artifact"
    __table_args__ = (Index("dataset_artifact_digest_index", "digest"),)
    dataset: Mapped[str] = Field(primary_key=True)
    digest: Mapped[str] = Field(primary_key=True, foreign_key="artifact.digest")


class TextBlock(Base, table=True):
    """A long text, or a text that many prompts begin with, stored once and compressed (db/journal/text_blocks.py)."""

    __tablename__ = "text_block"
    digest: Mapped[str] = Field(primary_key=True)
    data: Mapped[bytes] = Field(sa_column=Column(LargeBinary, nullable=False))


#: The tables of steps, by the kind of command they keep.
STEPS = {"note": SubgoalRow, "ask": CompletionRow, "do": ExecutionRow, "call": ToolCallRow, "approve": Approval}
