"""Read figures of tool agents' jobs: tool calls by provenance of their answers, costs, and judged runs.

As in the views, only steps of the accepted attempts of finished episodes count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy import ColumnElement, Connection, and_, func, literal_column, select, union_all

from db.engine.conditions import Query, Value
from db.kinds.job_kinds import JobKind
from db.models import CompletionRow, EpisodeRow, ExecutionRow, Item, JobRow, ScoreRow, TaskRow, ToolCallRow
from lumos_queue.records import Ending, FinishReason


@dataclass(frozen=True, slots=True)
class RunOrigin:
    """The origin of a job of tool agents or of their judge. Every task of the job has the same origin."""

    retrieved: int  #: number of tools retrieved for each row; 0: the row lists its tools
    judged: str  #: the job whose runs are judged; '' for an evaluation
    against: str  #: the job that it is compared with; '' for an evaluation


@dataclass(frozen=True, slots=True)
class Costs:
    """Sums over the finished episodes of a job."""

    model_calls: int
    tokens: int  #: of prompts and replies
    tool_calls: int


def origins(connection: Connection, benchmarks: Collection[str]) -> dict[str, RunOrigin]:
    """Return the origin of each evaluation on these benchmarks, by job. It is read from the job's first task."""
    inputs = TaskRow.inputs
    rows = connection.execute(
        select(
            Item.job,
            inputs["retrieved"].as_integer().label("retrieved"),
            inputs["from"]["episode"].as_string().label("episode"),
            inputs["from"]["against"].as_string().label("against"),
        )
        .join(TaskRow, TaskRow.id == Item.task)
        .join(JobRow, JobRow.id == Item.job)
        .where(JobRow.benchmark.in_(benchmarks), JobRow.kind == JobKind.EVALUATE, Item.ordinal == 0)
    )
    return {row.job: RunOrigin(row.retrieved or 0, _job_of(row.episode), _job_of(row.against)) for row in rows}


def _job_of(episode: str | None) -> str:
    return (episode or "").rpartition("-")[0]


def tool_calls(connection: Connection, job: str) -> list[tuple[str, str, int]]:
    """Count a job's tool calls: (provenance, status, calls). The provenance is '' for a call without an answer."""
    columns = (ToolCallRow.provenance, ToolCallRow.status)
    query = (
        select(*columns, func.count()).join(EpisodeRow, _of_accepted_attempt(ToolCallRow)).where(EpisodeRow.job == job)
    )
    rows = connection.execute(query.group_by(*columns).order_by(*columns))
    return [(provenance, status, calls) for provenance, status, calls in rows]


def provenances(connection: Connection, job: str, besides: str) -> dict[int, frozenset[str]]:
    """Return the provenances of the tools' answers in each episode, by its ordinal in the job; empty without answers.

    `besides`: the tool whose calls do not count.
    """
    rows = connection.execute(
        select(Item.ordinal, ToolCallRow.provenance)
        .select_from(EpisodeRow)
        .join(Item, Item.id == EpisodeRow.id)
        .join(ToolCallRow, _of_accepted_attempt(ToolCallRow) & (ToolCallRow.tool != besides), isouter=True)
        .where(EpisodeRow.job == job, EpisodeRow.ending != "")
        .distinct()
    )
    sources: dict[int, frozenset[str]] = {}
    for ordinal, provenance in rows:
        sources[ordinal] = sources.get(ordinal, frozenset()) | ({provenance} if provenance else set())
    return sources


def list_judged_names(connection: Connection, job: str) -> dict[int, str]:
    """Return the names of the judged episodes, by ordinal of the item in the judge's job."""
    inputs = TaskRow.inputs
    rows = connection.execute(
        select(Item.ordinal, inputs["from"]["episode"].as_string())
        .join(TaskRow, TaskRow.id == Item.task)
        .where(Item.job == job)
    )
    return {ordinal: episode for ordinal, episode in rows if episode}


def list_scored_episodes(connection: Connection, job: str) -> list[tuple[str, int, int, float, int]]:
    """Return (metric, ordinal in the job, task, value, trials) of each score. An `infra_error` has no score."""
    rows = connection.execute(
        select(ScoreRow.metric, Item.ordinal, EpisodeRow.task, ScoreRow.value, ScoreRow.trials)
        .join(EpisodeRow, EpisodeRow.id == ScoreRow.episode)
        .join(Item, Item.id == EpisodeRow.id)
        .where(EpisodeRow.job == job, EpisodeRow.ending != Ending.INFRA_ERROR)
        .order_by(ScoreRow.episode)
    )
    return [(metric, ordinal, task, value, trials) for metric, ordinal, task, value, trials in rows]


def list_answers(connection: Connection, job: str) -> list[tuple[int, str]]:
    """Return (task, answer) of each ended episode with an answer. An `infra_error` has no answer."""
    rows = connection.execute(
        select(EpisodeRow.task, EpisodeRow.answer)
        .where(
            EpisodeRow.job == job, EpisodeRow.ending.not_in(("", Ending.INFRA_ERROR)), EpisodeRow.answer.is_not(None)
        )
        .order_by(EpisodeRow.id)
    )
    return [(task, answer) for task, answer in rows if answer is not None]


def costs(connection: Connection, job: str, roles: Collection[str]) -> Costs:
    """Sum up the costs of the agent's roles. Models that simulate tools and replies that tasks contain do not count."""
    tokens = CompletionRow.prompt_tokens + CompletionRow.completion_tokens
    usage = connection.execute(
        select(func.count(), func.coalesce(func.sum(tokens), 0))
        .join(EpisodeRow, _of_accepted_attempt(CompletionRow))
        .where(EpisodeRow.job == job, CompletionRow.role.in_(roles))
        .where(CompletionRow.finish_reason != FinishReason.GIVEN.value)
    ).one()
    query = select(func.count()).select_from(ToolCallRow).join(EpisodeRow, _of_accepted_attempt(ToolCallRow))
    return Costs(int(usage[0]), int(usage[1]), connection.execute(query.where(EpisodeRow.job == job)).scalar_one())


@dataclass(frozen=True, slots=True)
class SerialStep:
    """A step of an episode without concurrent steps: a model's reply, or an action with its status."""

    episode: int
    task: int
    position: int
    who: str  #: the role; of an action ''
    text: str  #: the reply; an action's name
    status: str  #: of an action; of a reply its finish reason


_Steps: TypeAlias = type[CompletionRow] | type[ExecutionRow] | type[ToolCallRow]


def serial_steps(connection: Connection, job: str) -> Iterator[SerialStep]:
    """Yield the steps of a job's episodes, without prompts, in the order of episode and position."""
    none: Value = literal_column("''")
    replies = _serial(CompletionRow, CompletionRow.role, CompletionRow.reply, CompletionRow.finish_reason, job)
    actions = _serial(ExecutionRow, none, ExecutionRow.name, ExecutionRow.status, job)
    both = union_all(replies, actions).subquery()
    for row in connection.execute(select(both).order_by(both.c.episode, both.c.position)):
        yield SerialStep(*row)


def _serial(table: _Steps, who: Value, content: Value, status: Value, job: str) -> Query:
    return (
        select(table.episode, EpisodeRow.task, table.position)
        .add_columns(who.label("who"), content.label("what"), status.label("status"))
        .join(EpisodeRow, _of_accepted_attempt(table))
        .where(EpisodeRow.job == job, table.branch == 0)
    )


def _of_accepted_attempt(table: _Steps) -> ColumnElement[bool]:
    """Return the condition that a step belongs to the accepted attempt of a finished episode."""
    return and_(EpisodeRow.id == table.episode, EpisodeRow.attempt == table.attempt, EpisodeRow.ending != "")
