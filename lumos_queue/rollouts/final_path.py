"""Which calls of a stored run led to how it ended: of a search tree the path to its end, of other runs all calls.

A search that has an answer is judged on the path to it. One that has none is judged on a path that follows from what
is stored, and not on one drawn at random as in ToolBench: of those that gave up, if the run ended so, else of all, the
path with the most calls, and of several such the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from lumos_queue.formulations.policy import GIVE_UP
from lumos_queue.records import Action, Ending, Execution

if TYPE_CHECKING:
    from db.step_records import RecordedStep

Done = tuple[Action, Execution]
S = TypeVar("S", bound="RecordedStep")


def final_path(steps: Sequence[RecordedStep], ending: str) -> list[Done]:
    """The actions with what they gave, in order."""
    acted = [step for step in steps if isinstance(step.detail, Action) and isinstance(step.result, Execution)]
    before = {step.position: step.parent for step in steps if step.parent is not None}
    if not before:
        return [_done(step) for step in acted]
    by_position = {step.position: step for step in acted}
    ends = [step for step in acted if _ends_so(_done(step)[1], ending)] or acted
    paths = [_path(step.position, before, by_position) for step in ends]
    return [_done(step) for step in max(paths, key=lambda path: (len(path), path[-1].position), default=[])]


def _ends_so(execution: Execution, ending: str) -> bool:
    """Whether a path may end with this execution where the run ended so."""
    if ending == Ending.ANSWERED:
        return execution.ends
    return execution.status == GIVE_UP if ending == Ending.GAVE_UP else True


def _path(position: int, before: Mapping[int, int], acted: Mapping[int, S]) -> list[S]:
    """The actions from the root to this position, that included."""
    found = [acted[position]]
    while (earlier := before.get(position, -1)) >= 0 and earlier < position:  # else it would never end
        position = earlier
        found += [acted[position]] if position in acted else []
    return found[::-1]


def _done(step: RecordedStep) -> Done:
    assert isinstance(step.detail, Action) and isinstance(step.result, Execution)
    return step.detail, step.result
