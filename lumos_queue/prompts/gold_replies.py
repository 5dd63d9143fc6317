"""Write the replies that each role of a formulation gives in an episode that follows an annotation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.experts.graph import read_signature
from lumos_queue.experts.runs import plan_of
from lumos_queue.notation import STOP_PLANNING, write_actions, write_plan, write_subgoal
from lumos_queue.prompts.single_model import write_cot, write_integrated
from lumos_queue.records import Annotation

_NONE: Mapping[str, object] = MappingProxyType({})


def gold_replies(
    annotation: Annotation, formulation: str, domain: str, rationale: str = "", inputs: Mapping[str, object] = _NONE
) -> dict[str, list[str]]:
    """Return the replies of each role in order. `rationale`: the text before the answer, for `cot`.

    `inputs`: the task's inputs, for `model-synthesis`. Raises SpecError if the annotation is not a plan of experts for
    these inputs.
    """
    match formulation:
        case "cot":
            return {"solver": [write_cot(domain, rationale, annotation.answer)]}
        case "direct":
            return {"solver": [annotation.answer]}
        case "integrated":
            calls = DOMAINS.load(domain).calls
            steps = [write_integrated(step.subgoal, step.actions, calls) for step in annotation.steps]
            return {"solver": [*steps, STOP_PLANNING]}
        case "model-synthesis":
            return {"planner": [_write_plan_of_experts(annotation, inputs)]}
    return {
        "planner": planner_replies(annotation, formulation),
        "grounder": grounder_replies(annotation, formulation, domain),
    }


def _write_plan_of_experts(annotation: Annotation, inputs: Mapping[str, object]) -> str:
    try:
        return plan_of(annotation, read_signature(inputs)).write()
    except ValueError as error:
        raise SpecError(f"The annotation is not a plan of experts: {error}.") from None


def planner_replies(annotation: Annotation, formulation: str) -> list[str]:
    """Return the planner's replies.

    In the iterative formulation these are a subgoal for each turn, then the stop phrase, which is unused in domains
    where an action ends the episode. In the one-pass formulation, the reply has all subgoals on one line.
    """
    subgoals = [step.subgoal for step in annotation.steps]
    if formulation == "one-pass":
        return [write_plan(subgoals)]
    return [*map(write_subgoal, subgoals), STOP_PLANNING]


def grounder_replies(annotation: Annotation, formulation: str, domain: str) -> list[str]:
    """Return the grounder's replies: one with the actions of each subgoal, or in one-pass one with all actions."""
    calls = DOMAINS.load(domain).calls
    if formulation == "one-pass":
        return [write_actions((action for step in annotation.steps for action in step.actions), calls)]
    return [write_actions(step.actions, calls) for step in annotation.steps]
