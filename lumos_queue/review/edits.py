"""Apply a person's changes to the steps of an annotation, without running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from lumos_queue.errors import SpecError
from lumos_queue.notation import Issue, read_action_line, read_annotation, strip_label, write_action
from lumos_queue.records import Action, AnnotatedSubgoal, Subgoal
from lumos_queue.util.sanitize import storable

Steps = tuple[AnnotatedSubgoal, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of an annotation. Numbers count from 1."""

    subgoals: Mapping[int, str] = field(default_factory=dict)  #: by number; the label may be omitted
    #: by subgoal and position in it, as `R1 = Name(…)`
    actions: Mapping[tuple[int, int], str] = field(default_factory=dict)
    text: str = ""  #: instead of both: the whole annotation, in the format of `annotation_text`


def apply_changes(steps: Steps, changes: Changes) -> Steps:
    """Return the changed steps. The result of a new action is the result that the person states, or ''.

    Raises SpecError for a subgoal or action that does not exist, and for a text that cannot be read.
    """
    if changes.text:
        return _read_whole(changes.text, steps)
    new_steps = list(steps)
    for number, text in changes.subgoals.items():
        new_steps[_index(number, steps)] = replace(new_steps[_index(number, steps)], subgoal=_subgoal(number, text))
    for (number, position), text in changes.actions.items():
        step = new_steps[_index(number, steps)]
        if not 1 <= position <= len(step.actions):
            raise SpecError(f"Subgoal {number} has no action {position}: it has {len(step.actions)}.")
        old, (action, result) = step.actions[position - 1], _action(number, position, text)
        if write_action(action) == write_action(old):
            result = result or step.results[position - 1]
        new_steps[_index(number, steps)] = replace(
            step,
            actions=_replace_at(step.actions, position, action),
            results=_replace_at(step.results, position, result),
        )
    return tuple(new_steps)


def _index(number: int, steps: Steps) -> int:
    if not 1 <= number <= len(steps):
        raise SpecError(f"The episode has no subgoal {number}: it has {len(steps)}.")
    return number - 1


def _replace_at(values: tuple[T, ...], position: int, value: T) -> tuple[T, ...]:
    return (*values[: position - 1], value, *values[position:])


def _subgoal(number: int, text: str) -> Subgoal:
    text = strip_label(_check_line(f"subgoal {number}", text))
    if not text:
        raise SpecError(f"Subgoal {number} has no text. To remove the subgoal, give the whole annotation with --file.")
    return Subgoal(number, f"Subgoal {number}: {text}")


def _action(number: int, position: int, text: str) -> tuple[Action, str]:
    label = f"Action {number}-{position}"
    read = read_action_line(f"{label}: {_check_line(label.lower(), text)}")
    if isinstance(read, Issue):
        raise SpecError(f"{label} is '{text[:80]}': {read.reason}. Expected R1 = Name(arguments).")
    return read


def _check_line(subject: str, text: str) -> str:
    if len(text.splitlines()) > 1 or storable(text)[1]:
        raise SpecError(f"The text of {subject} must be one line without control characters or invalid Unicode.")
    return text.strip()


def _read_whole(text: str, before: Steps) -> Steps:
    """Read the steps of a whole annotation. Unchanged subgoals keep their earlier text, with or without a label."""
    has_results = any(result for step in before for result in step.results)
    steps, issues = read_annotation(storable(text)[0], False)
    if issues and issues[0].reason == "no subgoals":
        raise SpecError(
            f"'{' '.join(text.split())[:60]}' is not an annotation: expected lines 'Subgoal 1: …' and "
            "'Action 1-1: R1 = …', as printed by lumos correct EPISODE --print."
        )
    if issues:
        raise SpecError(f"The annotation cannot be read: {issues[0].reason}, at '{issues[0].line[:80]}'.")
    earlier_subgoals = {(strip_label(step.subgoal.text), step.subgoal.number): step.subgoal for step in before}
    return tuple(
        AnnotatedSubgoal(
            earlier_subgoals.get((strip_label(step.subgoal.text), step.subgoal.number), step.subgoal),
            step.actions,
            step.results if has_results else ("",) * len(step.actions),
        )
        for step in steps
    )
