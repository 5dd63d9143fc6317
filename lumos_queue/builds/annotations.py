"""Convert the recorded steps of an episode to an annotation."""

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
    """Return the subgoals, their actions and the results, as an iterative or annotated episode recorded them.

    The result of a failed action is the one that the annotation states, if any. Return None when there is no answer,
    when an action comes before the first subgoal, or when a subgoal has no action: the steps of a one-pass episode do
    not say which action belongs to which subgoal.
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
    """Return the annotation with every action at the last subgoal; only one-pass conversations can use it."""
    subgoals = [detail for detail, _ in _read_details(steps) if isinstance(detail, Subgoal)]
    pairs = [(detail, result) for detail, result in _read_details(steps) if isinstance(detail, Action)]
    if answer is None or not subgoals or not pairs:
        return None
    actions, results = zip(*pairs, strict=True)
    bare = [AnnotatedSubgoal(subgoal, (), ()) for subgoal in subgoals[:-1]]
    return Annotation((*bare, AnnotatedSubgoal(subgoals[-1], actions, results)), answer)


def annotation_of_runs(steps: Sequence[RecordedStep], answer: str | None) -> Annotation | None:
    """Return the runs of experts of an episode, one subgoal for each run. None without runs or answer."""
    runs = [(detail, result) for detail, result in _read_details(steps) if isinstance(detail, Action)]
    return annotate_runs(runs, answer) if runs and answer is not None else None


def count_failed_actions(steps: Sequence[RecordedStep]) -> int:
    """Count the actions of the annotation that have no result."""
    own_steps = select_annotated_steps(steps)
    runs = [step.result for step in own_steps if isinstance(step.detail, Action)]
    return sum(isinstance(run, Execution) and not run.ok for run in runs)


def planner_only(annotation: Annotation) -> Annotation:
    """Replace the actions of each subgoal by one readable action; the planner's part stays the same."""
    return replace(annotation, steps=tuple(map(_with_placeholder_action, annotation.steps)))


def _with_placeholder_action(step: AnnotatedSubgoal) -> AnnotatedSubgoal:
    action = Action((f"R{step.subgoal.number}",), "", str(step.subgoal.number))
    return AnnotatedSubgoal(step.subgoal, (action,), step.results[-1:])


def _read_details(steps: Sequence[RecordedStep]) -> list[tuple[Subgoal | Action, str]]:
    """Return the subgoals and the actions that a grounder wrote, in order, each action with its result."""
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
