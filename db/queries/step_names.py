"""The names of steps in labels: `2` is the second subgoal, `2-1` its first action, `@9.1` a step by position."""

from __future__ import annotations

import re
from collections.abc import Sequence

from db.journal.step_records import RecordedStep, select_annotated_steps
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Subgoal

_PLACE = re.compile(
    r"(?P<subgoal>[0-9]{1,6})(?:-(?P<action>[0-9]{1,6}))?|@(?P<position>[0-9]{1,9})(?:\.(?P<branch>[0-9]{1,9}))?"
)


def locate_step(steps: Sequence[RecordedStep], text: str) -> tuple[int, int]:
    """Return (position, branch) of the step that a person names.

    `2` names the second subgoal, `2-1` its first action, and `@9.1` the step at position 9, branch 1. Subgoals and
    actions are those of the annotation; a teacher's earlier tries have names by position only. Raises SpecError when
    there is no such step.
    """
    match = _PLACE.fullmatch(text)
    if not match:
        raise SpecError(
            f"'{text}' names no step: expected 2 (a subgoal), 2-1 (its first action) or @9 (the step at position 9)."
        )
    if match["position"]:
        location = int(match["position"]), int(match["branch"] or 0)
        if not any((step.position, step.branch) == location for step in steps):
            raise SpecError(f"The episode has no step at position {text[1:]}: its steps are @0 to @{_last(steps)}.")
        return location
    number, action = int(match["subgoal"]), int(match["action"] or 0)
    own_steps = select_annotated_steps(steps)
    starts = [index for index, step in enumerate(own_steps) if isinstance(step.detail, Subgoal)]
    if not 1 <= number <= len(starts):
        raise SpecError(f"The episode has no subgoal {number}: it has {len(starts)}.")
    start, end = starts[number - 1], [*starts, len(own_steps)][number]
    actions = [step for step in own_steps[start:end] if isinstance(step.detail, Action)]
    if match["action"] and not 1 <= action <= len(actions):
        raise SpecError(
            f"Subgoal {number} has no action {action}: it has {len(actions)}. To name a step by position: @0, @1, …"
        )
    step = actions[action - 1] if match["action"] else own_steps[start]
    return step.position, step.branch


def name_of_step(steps: Sequence[RecordedStep], position: int, branch: int) -> str:
    """Return the name of the step at this position and branch, as `locate_step` reads it."""
    subgoal = action = 0
    for step in select_annotated_steps(steps):
        if isinstance(step.detail, Subgoal):
            subgoal, action = subgoal + 1, 0
        elif isinstance(step.detail, Action) and subgoal:
            action += 1
        else:
            continue
        if (step.position, step.branch) == (position, branch):
            return f"{subgoal}-{action}" if action else str(subgoal)
    return f"@{position}.{branch}" if branch else f"@{position}"


def name_steps(steps: Sequence[RecordedStep]) -> list[tuple[str, Subgoal | Action]]:
    """Return (name, step) of each subgoal and action of the annotation, in order."""
    return [
        (name_of_step(steps, step.position, step.branch), step.detail)
        for step in select_annotated_steps(steps)
        if isinstance(step.detail, Subgoal | Action)
    ]


def _last(steps: Sequence[RecordedStep]) -> int:
    return max((step.position for step in steps), default=0)
