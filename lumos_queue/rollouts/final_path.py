"""Find the calls of a stored run that led to its ending: those on a path of a search tree, or all calls of other runs.

A search with an answer is judged on the path to the answer. A search without an answer is judged on the path with the
most calls; of several such paths, on the last. If the run gave up, only paths that gave up are considered. ToolBench
samples a path instead, but this rule chooses the same path each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from lumos_queue.formulations.decision import GIVE_UP
from lumos_queue.records import Action, Ending, Execution

if TYPE_CHECKING:
    from db.journal.step_records import RecordedStep

Done = tuple[Action, Execution]
S = TypeVar("S", bound="RecordedStep")


def final_path(steps: Sequence[RecordedStep], ending: str) -> list[Done]:
    """Return the actions of the path with their executions, in order. `ending`: the ending of the run."""
    action_steps = [step for step in steps if isinstance(step.detail, Action) and isinstance(step.result, Execution)]
    before = {step.position: step.parent for step in steps if step.parent is not None}
    if not before:
        return [_call_of(step) for step in action_steps]
    by_position = {step.position: step for step in action_steps}
    ends = [step for step in action_steps if _ends_so(_call_of(step)[1], ending)] or action_steps
    paths = [_path(step.position, before, by_position) for step in ends]
    return [_call_of(step) for step in max(paths, key=lambda path: (len(path), path[-1].position), default=[])]


def _ends_so(execution: Execution, ending: str) -> bool:
    """Return whether a path may end with this execution if the run has this ending."""
    if ending == Ending.ANSWERED:
        return execution.ends
    return execution.status == GIVE_UP if ending == Ending.GAVE_UP else True


def _path(position: int, before: Mapping[int, int], action_steps: Mapping[int, S]) -> list[S]:
    """Return the actions from the root to this position, both included."""
    path = [action_steps[position]]
    while (earlier := before.get(position, -1)) >= 0 and earlier < position:  # a cycle would not end
        position = earlier
        path += [action_steps[position]] if position in action_steps else []
    return path[::-1]


def _call_of(step: RecordedStep) -> Done:
    assert isinstance(step.detail, Action) and isinstance(step.result, Execution)
    return step.detail, step.result
