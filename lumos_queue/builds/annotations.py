"""Convert the recorded steps of an episode to an annotation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from db.journal.step_records import RecordedStep, select_annotated_steps
from lumos_queue.commands import Result
from lumos_queue.experts.runs import annotate_runs
from lumos_queue.formulations.answer import CONCLUSION
from lumos_queue.notation import write_action
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Execution, Subgoal


def annotation_of(steps: Sequence[RecordedStep], answer: str | None) -> Annotation | None:
    """Return the annotation that an iterative or annotated episode recorded: subgoals, actions and results.

    A failed action has the result that the annotation states, or ''. Return None without an answer, if an action comes
    before the first subgoal, and if a subgoal has no action, as in a one-pass episode, whose steps do not show which
    action belongs to which subgoal.
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
    """Return an annotation whose last subgoal has all actions; None without an answer, subgoals or actions.

    Only one-pass conversations can use it.
    """
    subgoals = [detail for detail, _ in _read_details(steps) if isinstance(detail, Subgoal)]
    pairs = [(detail, result) for detail, result in _read_details(steps) if isinstance(detail, Action)]
    if answer is None or not subgoals or not pairs:
        return None
    actions, results = zip(*pairs, strict=True)
    bare = [AnnotatedSubgoal(subgoal, (), ()) for subgoal in subgoals[:-1]]
    return Annotation((*bare, AnnotatedSubgoal(subgoals[-1], actions, results)), answer)


def annotation_of_runs(steps: Sequence[RecordedStep], answer: str | None) -> Annotation | None:
    """Return an annotation with a subgoal for each run of an expert in the episode; None without runs or answer."""
    runs = [(detail, result) for detail, result in _read_details(steps) if isinstance(detail, Action)]
    return annotate_runs(runs, answer) if runs and answer is not None else None


def count_failed_actions(steps: Sequence[RecordedStep]) -> int:
    """Count the actions of the annotation that failed when they ran."""
    own_steps = select_annotated_steps(steps)
    runs = [step.result for step in own_steps if isinstance(step.detail, Action)]
    return sum(isinstance(run, Execution) and not run.ok for run in runs)


def planner_only(annotation: Annotation) -> Annotation:
    """Return the annotation with a placeholder instead of the actions of each subgoal, for planner rows only."""
    return replace(annotation, steps=tuple(map(_with_placeholder_action, annotation.steps)))


def _with_placeholder_action(step: AnnotatedSubgoal) -> AnnotatedSubgoal:
    action = Action((f"R{step.subgoal.number}",), "", str(step.subgoal.number))
    return AnnotatedSubgoal(step.subgoal, (action,), step.results[-1:])


def _read_details(steps: Sequence[RecordedStep]) -> list[tuple[Subgoal | Action, str]]:
    """Return (subgoal, '') and (action, its result) in order, without actions that the formulation wrote itself."""
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
