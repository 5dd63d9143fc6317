"""Decide how an episode's steps are displayed, from its formulation: column heads, and functions or actions."""

from __future__ import annotations

from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import REPEATED
from lumos_queue.records import Action, Role

HEADS = ("planner: subgoals", "grounder: actions", "results")  #: for agents that are not tool agents
RECORDS = Role.STATE_MANAGER


def column_heads(formulation: str) -> tuple[str, str, str]:
    """Return the heads of an episode's columns: the roles of its formulation."""
    agent_formulation = FORMULATIONS.find(formulation)
    if agent_formulation is not None and agent_formulation.judges_runs:
        return "", f"{agent_formulation.roles[0]}: labels", ""
    if agent_formulation is None or not agent_formulation.functions:
        return HEADS
    roles = agent_formulation.roles
    if agent_formulation.approved:
        return f"{roles[0]}: list; {roles[1]}: thoughts", "actions", HEADS[2]
    if Role.SOLVER in roles:
        return HEADS[0], "actions; solver: answer", HEADS[2]
    return f"{roles[0]}: thoughts", "actions", f"results; {RECORDS}: records" if RECORDS in roles else HEADS[2]


def calls_functions(formulation: str) -> bool:
    """Return whether the actions of a formulation are functions of the task."""
    agent_formulation = FORMULATIONS.find(formulation)
    return agent_formulation is not None and agent_formulation.functions


def decides_alone(formulation: str) -> bool:
    """Return whether a role of the formulation decides on calls one after another, without a plan of calls."""
    agent_formulation = FORMULATIONS.find(formulation)
    return (
        agent_formulation is not None
        and agent_formulation.functions
        and (agent_formulation.approved or Role.PLANNER not in agent_formulation.roles)
    )


def write_call(action: Action) -> str:
    """Return the function's name and the arguments of a call. If a repeated call was refused, its name is in `raw`."""
    return f"{action.raw if action.name == REPEATED else action.name} {action.arguments}".rstrip()
