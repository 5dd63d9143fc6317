"""Read the plans of experts in a job's episodes: their steps, and the experts that ran.

Only subgoals and calls of the accepted attempts of finished episodes count.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import func, select

from db.engine.connection import Connection
from db.models import EpisodeRow, SubgoalRow, TaskRow, ToolCallRow
from lumos_queue.records import Ending


class PlanSteps(NamedTuple):
    """The number of steps in a job's readable plans."""

    n: int
    unresolved: int  #: steps that name no expert


class EndedPlan(NamedTuple):
    """An episode that ended, with the texts of its plan."""

    row: str  #: of its task
    ending: str
    message: str
    subgoals: list[str]  #: texts of its subgoals, in order


def count_plan_steps(connection: Connection, job: str, unresolved: str, unreadable: str) -> PlanSteps:
    """Count the steps of a job's readable plans.

    `unresolved`: the text in a subgoal that names no expert. `unreadable`: the text in a subgoal that is no step,
    because its plan could not be read.
    """
    is_unresolved = SubgoalRow.text.contains(unresolved)
    query = (
        select(func.count(), func.count().filter(is_unresolved))
        .select_from(SubgoalRow)
        .join(EpisodeRow, EpisodeRow.id == SubgoalRow.episode)
        .where(EpisodeRow.job == job, EpisodeRow.ending != "", EpisodeRow.attempt == SubgoalRow.attempt)
        .where(is_unresolved | ~SubgoalRow.text.contains(unreadable))
    )
    n, unresolved_steps = connection.execute(query).one()
    return PlanSteps(n, unresolved_steps)


def list_ended_plans(connection: Connection, job: str) -> list[EndedPlan]:
    """Return the plans of the episodes that ended, without those that infrastructure ended."""
    episodes = connection.execute(
        select(EpisodeRow.id, TaskRow.row, EpisodeRow.ending, EpisodeRow.message)
        .join(TaskRow, TaskRow.id == EpisodeRow.task)
        .where(EpisodeRow.job == job, EpisodeRow.ending.not_in(("", Ending.INFRA_ERROR)))
    ).all()
    texts: dict[int, list[str]] = {}
    query = (
        select(SubgoalRow.episode, SubgoalRow.text)
        .join(EpisodeRow, EpisodeRow.id == SubgoalRow.episode)
        .where(EpisodeRow.job == job, EpisodeRow.attempt == SubgoalRow.attempt)
        .order_by(SubgoalRow.episode, SubgoalRow.number)
    )
    for episode, text in connection.execute(query):
        texts.setdefault(episode, []).append(text)
    return [EndedPlan(row, ending, message, texts.get(episode, [])) for episode, row, ending, message in episodes]


def count_expert_runs(connection: Connection, job: str, tool: str) -> dict[str, int]:
    """Count the runs of each expert, by name. `tool`: the tool whose calls run experts."""
    name = ToolCallRow.arguments["expert"].as_string()
    rows = connection.execute(
        select(name, func.count())
        .join(EpisodeRow, EpisodeRow.id == ToolCallRow.episode)
        .where(EpisodeRow.job == job, EpisodeRow.ending != "", EpisodeRow.attempt == ToolCallRow.attempt)
        .where(ToolCallRow.tool == tool)
        .group_by(name)
    )
    return {str(expert): runs for expert, runs in rows}
