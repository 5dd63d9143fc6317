"""What each role of a formulation says when everything goes as in an annotation."""

from __future__ import annotations

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.notation import STOP_PLANNING, write_actions, write_plan, write_subgoal
from lumos_queue.prompts.single_model import write_cot, write_integrated
from lumos_queue.records import Annotation


def gold_replies(annotation: Annotation, formulation: str, domain: str, rationale: str = "") -> dict[str, list[str]]:
    """The replies of each role, in order. `rationale` is what `cot` says before the answer."""
    match formulation:
        case "cot":
            return {"solver": [write_cot(domain, rationale, annotation.answer)]}
        case "direct":
            return {"solver": [annotation.answer]}
        case "integrated":
            calls = DOMAINS.load(domain).calls
            steps = [write_integrated(step.subgoal, step.actions, calls) for step in annotation.steps]
            return {"solver": [*steps, STOP_PLANNING]}
    return {
        "planner": planner_replies(annotation, formulation),
        "grounder": grounder_replies(annotation, formulation, domain),
    }


def planner_replies(annotation: Annotation, formulation: str) -> list[str]:
    """Iterative: one subgoal a turn, then the stop phrase (which domains that end by themselves never ask for).

    One-pass: every subgoal on one line.
    """
    subgoals = [step.subgoal for step in annotation.steps]
    if formulation == "one-pass":
        return [write_plan(subgoals)]
    return [*map(write_subgoal, subgoals), STOP_PLANNING]


def grounder_replies(annotation: Annotation, formulation: str, domain: str) -> list[str]:
    """Iterative: the actions of one subgoal a turn. One-pass: those of all subgoals on one line."""
    calls = DOMAINS.load(domain).calls
    if formulation == "one-pass":
        return [write_actions((action for step in annotation.steps for action in step.actions), calls)]
    return [write_actions(step.actions, calls) for step in annotation.steps]
