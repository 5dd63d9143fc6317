"""Write the replies that each role of a formulation gives in an episode that follows a gold solution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.experts.graph import read_signature
from lumos_queue.experts.runs import plan_of
from lumos_queue.notation import STOP_PLANNING, write_actions, write_plan, write_subgoal
from lumos_queue.prompts.single_model import write_cot, write_integrated
from lumos_queue.records import Annotation, Role

Replies = dict[str, list[str]]  #: role to its replies in order


@dataclass(frozen=True, slots=True)
class GoldSolution:
    """A gold solution of a task."""

    annotation: Annotation
    domain: str
    rationale: str = ""  #: the text before the answer, for a formulation whose reply has reasoning
    inputs: Mapping[str, object] = field(default_factory=dict)  #: of the task


def write_stepwise(solution: GoldSolution) -> Replies:
    """Return a reply of the planner and of the grounder for each subgoal, and the planner's stop phrase.

    The phrase is unused in domains where an action ends the episode.
    """
    steps, calls = solution.annotation.steps, DOMAINS.load(solution.domain).calls
    return {
        Role.PLANNER: [*(write_subgoal(step.subgoal) for step in steps), STOP_PLANNING],
        Role.GROUNDER: [write_actions(step.actions, calls) for step in steps],
    }


def write_at_once(solution: GoldSolution) -> Replies:
    """Return a reply of the planner with all subgoals on one line, and a reply of the grounder with all actions."""
    steps, calls = solution.annotation.steps, DOMAINS.load(solution.domain).calls
    return {
        Role.PLANNER: [write_plan([step.subgoal for step in steps])],
        Role.GROUNDER: [write_actions((action for step in steps for action in step.actions), calls)],
    }


def write_together(solution: GoldSolution) -> Replies:
    """Return a reply of the solver for each subgoal, with its actions, and the stop phrase."""
    calls = DOMAINS.load(solution.domain).calls
    steps = [write_integrated(step.subgoal, step.actions, calls) for step in solution.annotation.steps]
    return {Role.SOLVER: [*steps, STOP_PLANNING]}


def write_reasoning(solution: GoldSolution) -> Replies:
    """Return the solver's reply: the rationale, and the answer in the domain's last sentence."""
    return {Role.SOLVER: [write_cot(solution.domain, solution.rationale, solution.annotation.answer)]}


def write_answer(solution: GoldSolution) -> Replies:
    """Return the solver's reply: the answer alone."""
    return {Role.SOLVER: [solution.annotation.answer]}


def write_expert_plan(solution: GoldSolution) -> Replies:
    """Return the planner's reply. Raises SpecError if the annotation is not a plan of experts for the inputs."""
    try:
        return {Role.PLANNER: [plan_of(solution.annotation, read_signature(solution.inputs)).write()]}
    except ValueError as error:
        raise SpecError(f"The annotation is not a plan of experts: {error}.") from None
