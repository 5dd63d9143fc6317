"""Convert runs of experts: a run to an action of an episode, the runs of a plan to an annotation, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable

from lumos_queue.experts.graph import PlanNode, read_graph, ready_sets
from lumos_queue.experts.plans import Plan, Signature
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Subgoal


def write_node(node: PlanNode) -> Action:
    """Return a run as an action, such as `E2 = Colorization(["E1"])`."""
    return Action((node.variable,), node.expert, json.dumps(node.inputs))


def read_node(action: Action) -> PlanNode:
    """Return the run of an expert that an action requests. Raises ValueError if it requests none."""
    try:
        inputs = json.loads(action.arguments)
    except RecursionError:
        raise ValueError("arguments are nested too deep") from None
    if not isinstance(inputs, list) or not all(isinstance(name, str) for name in inputs) or not inputs:
        raise ValueError("arguments are not a list of names")
    if len(action.variables) != 1:
        raise ValueError(f"{len(action.variables)} variables for the output of one expert")
    return PlanNode(action.variables[0], action.name, tuple(inputs))


def annotate_runs(runs: Iterable[tuple[Action, str]], answer: str) -> Annotation:
    """Return an annotation with a subgoal for each (action, result) of `runs`, in the same order."""
    steps = [
        AnnotatedSubgoal(Subgoal(number, f"Subgoal {number}: {action.name}"), (action,), (result,))
        for number, (action, result) in enumerate(runs, start=1)
    ]
    return Annotation(tuple(steps), answer)


def annotate_plan(plan: Plan, signature: Signature) -> Annotation:
    """Return a feasible plan as an annotation with empty results."""
    return annotate_runs(((write_node(node), "") for ready in ready_sets(plan, signature) for node in ready), "")


def plan_of(annotation: Annotation, signature: Signature) -> Plan:
    """Return the plan of an annotation's runs. Raises ValueError if they are not the runs of a plan."""
    return read_graph([read_node(action) for step in annotation.steps for action in step.actions], signature)
