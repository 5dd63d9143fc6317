"""The recorded steps of an episode → the annotation they amount to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from db.step_records import RecordedStep, select_annotated_steps
from lumos_queue.commands import Result
from lumos_queue.experts.runs import annotate_runs
from lumos_queue.formulations.answer import CONCLUSION
from lumos_queue.notation import write_action
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Execution, Subgoal


def annotation_of(steps: Sequence[RecordedStep], answer: str | None) -> Annotation | None:
    """The subgoals, their actions and the actions' results, as an iterative or annotated episode recorded them.

    The result of an action that failed is the one that the annotation states, if it states one. None when there is no
    answer, or when an action comes before any subgoal or a subgoal has no action: the steps of a one-pass episode do
    not say which action belongs to which.
    """
    subgoals: list[tuple[Subgoal, list[Action], list[str]]] = []
    for detail, result in _read_details(steps):
        if isinstance(detail, Subgoal):
            subgoals.append((detail, [], []))
        elif not subgoals:
            return None
        else:
            subgoals[-1][1].append(detail)
            subgoals[-1][2].append(result)
    if answer is None or not subgoals or not all(actions for _, actions, _ in subgoals):
        return None
    return Annotation(tuple(AnnotatedSubgoal(subgoal, tuple(a), tuple(r)) for subgoal, a, r in subgoals), answer)


def one_pass_annotation_of(steps: Sequence[RecordedStep], answer: str | None) -> Annotation | None:
    """As `annotation_of`, with every action at the last subgoal: usable for one-pass conversations only."""
    subgoals = [detail for detail, _ in _read_details(steps) if isinstance(detail, Subgoal)]
    pairs = [(detail, result) for detail, result in _read_details(steps) if isinstance(detail, Action)]
    if answer is None or not subgoals or not pairs:
        return None
    actions, results = zip(*pairs, strict=True)
    bare = [AnnotatedSubgoal(subgoal, (), ()) for subgoal in subgoals[:-1]]
    return Annotation((*bare, AnnotatedSubgoal(subgoals[-1], actions, results)), answer)


def annotation_of_runs(steps: Sequence[RecordedStep], answer: str | None) -> Annotation | None:
    """The runs of experts that an episode did, in their order, a subgoal each: the plan that ran."""
    runs = [(detail, result) for detail, result in _read_details(steps) if isinstance(detail, Action)]
    return annotate_runs(runs, answer) if runs and answer is not None else None


def count_failed_actions(steps: Sequence[RecordedStep]) -> int:
    """How many of the annotation's actions did not give a result."""
    own_steps = select_annotated_steps(steps)
    runs = [step.result for step in own_steps if isinstance(step.detail, Action)]
    return sum(isinstance(run, Execution) and not run.ok for run in runs)


def planner_only(annotation: Annotation) -> Annotation:
    """The annotation with one readable action in place of each subgoal's: its planner's side stays the same."""
    return replace(annotation, steps=tuple(map(_with_placeholder_action, annotation.steps)))


def _with_placeholder_action(step: AnnotatedSubgoal) -> AnnotatedSubgoal:
    action = Action((f"R{step.subgoal.number}",), "", str(step.subgoal.number))
    return AnnotatedSubgoal(step.subgoal, (action,), step.results[-1:])


def _read_details(steps: Sequence[RecordedStep]) -> list[tuple[Subgoal | Action, str]]:
    """Subgoals and the actions that a grounder wrote, in order, an action with its result."""
    return [
        (step.detail, _result(step.detail, step.result) if isinstance(step.detail, Action) else "")
        for step in select_annotated_steps(steps)
        if isinstance(step.detail, Subgoal) or (isinstance(step.detail, Action) and step.detail.name != CONCLUSION)
    ]


def _result(action: Action, execution: Result) -> str:
    if isinstance(execution, Execution) and execution.ok:
        return execution.result
    call = write_action(action)
    return action.raw.removeprefix(call).removeprefix(" = ").strip() if action.raw.startswith(f"{call} = ") else ""
