"""Rows of an attempt's steps. Each begins with the key of its step: episode, attempt, position, branch, command."""

from __future__ import annotations

from typing import NamedTuple

from db.engine.rows.declaration import writes_to
from db.models import Approval, Attempt, CompletionRow, EpisodeArtifact, ExecutionRow, SubgoalRow, ToolCallRow


@writes_to(SubgoalRow, compare=("command",))
class NewSubgoal(NamedTuple):
    """A subgoal of the planner."""

    episode: int
    attempt: int
    position: int
    branch: int
    command: bytes
    number: int
    text: str


@writes_to(CompletionRow, compare=("command", "reply"))
class NewCompletion(NamedTuple):
    """A model call."""

    episode: int
    attempt: int
    position: int
    branch: int
    command: bytes
    parent: int | None
    role: str
    prompt_digest: bytes
    base: int | None
    prefix: str | None
    delta: str
    delta_block: str | None
    question_at: int | None
    reply: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    retries: int
    replaced: int
    seconds: float
    waited: float
    lost: float
    queued: float
    note: str
    candidates: str | None  #: JSON
    reasoning: str | None
    reasoning_tokens: int | None
    message: str | None


@writes_to(ExecutionRow, compare=("command", "status", "result", "result_block"))
class NewExecution(NamedTuple):
    """An action and its result."""

    episode: int
    attempt: int
    position: int
    branch: int
    command: bytes
    parent: int | None
    variables: str  #: JSON
    name: str
    arguments: str
    raw: str
    status: str
    result: str
    result_block: str | None
    outputs: str | None  #: JSON
    outputs_block: str | None
    message: str
    seconds: float


@writes_to(ToolCallRow, compare=("command", "status", "result", "result_block"))
class NewToolCall(NamedTuple):
    """An action's call of an external tool, and the tool's answer."""

    episode: int
    attempt: int
    position: int
    branch: int
    command: bytes
    tool: str
    arguments: str  #: JSON
    status: str
    result: str
    result_block: str | None
    outputs: str | None  #: JSON
    outputs_block: str | None
    message: str
    seconds: float
    provenance: str


@writes_to(Approval, compare=("command",), stamp="asked_at")  # a person may have answered meanwhile
class NewApproval(NamedTuple):
    """A plan that a person is asked to approve."""

    episode: int
    attempt: int
    position: int
    branch: int
    command: bytes
    shown: str
    answer: str
    note: str
    who: str


@writes_to(Attempt, stamp="started_at")
class NewAttempt(NamedTuple):
    """An attempt that begins."""

    episode: int
    number: int
    code_version: str


@writes_to(EpisodeArtifact)
class NewEpisodeArtifact(NamedTuple):
    """An artifact that a step names."""

    episode: int
    digest: str


STEP_ROWS = (NewSubgoal, NewCompletion, NewExecution, NewToolCall, NewApproval)  #: row types of steps
