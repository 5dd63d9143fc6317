"""Check whether the model was called as often as the formulation calls it for the subgoals of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from db.kinds.job_kinds import RUNS
from db.queue.stored_jobs import StoredJob
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import Ending
from lumos_queue.reports.episode_figures import EndedEpisodes


@dataclass(frozen=True, slots=True)
class CallsCheck:
    """The numbers of checked episodes, and of those with the expected number of calls."""

    episodes: int
    as_expected: int


def check_calls(job: StoredJob, episodes: Sequence[EndedEpisodes]) -> CallsCheck | None:
    """Return how many episodes have the expected calls; None if the formulation or the agent has no such rule."""
    formulation = FORMULATIONS.find(job.formulation) if job.kind in RUNS else None
    if formulation is None or formulation.expected_calls is None:
        return None
    agent = job.spec.get("infer", job.spec).get("agent", {})
    if agent.get("settings", {}).get("search") == "apart":
        return None  # a call for each input of a task
    domain = DOMAINS.find(agent["domain"])
    if domain is None or domain.ends_by_action or TOOL_ROLES.keys() & agent.get("roles", {}).keys():
        return None  # calls of tools count as calls of the agent; episodes that end by an action have no last plan
    max_subgoals = agent.get("max_subgoals", 0)
    # No rule holds if an endpoint failed, or if the context was full before the last subgoal.
    checked_groups = [
        group
        for group in episodes
        if group.ending not in (Ending.INFRA_ERROR, Ending.LIMIT)
        or (group.ending == Ending.LIMIT and formulation.limited and group.subgoals == max_subgoals)
    ]
    if not checked_groups:
        return None
    right = [
        group.episodes
        for group in checked_groups
        if group.calls == formulation.expected_calls(group.subgoals, max_subgoals)
    ]
    return CallsCheck(sum(group.episodes for group in checked_groups), sum(right))
