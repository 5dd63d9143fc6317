"""A person's changes of an annotation, and the resulting steps: nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from lumos_queue.errors import SpecError
from lumos_queue.notation import Issue, read_action_line, read_annotation, unlabelled, write_action
from lumos_queue.records import Action, AnnotatedSubgoal, Subgoal
from lumos_queue.util.sanitize import storable

Steps = tuple[AnnotatedSubgoal, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a person asks for. Numbers count from 1."""

    subgoals: Mapping[int, str] = field(default_factory=dict)  #: by number; the label may be omitted
    actions: Mapping[tuple[int, int], str] = field(
        default_factory=dict
    )  #: by subgoal and position in it, as `R1 = Name(…)`
    text: str = ""  #: instead of both: the whole annotation, in the format of `annotation_text`


def apply_changes(steps: Steps, changes: Changes) -> Steps:
    """The steps with the changes; a new action has the result that the person states, or ''.

    Raises SpecError for a subgoal or action that does not exist, and for a text that cannot be read.
    """
    if changes.text:
        return _read_whole(changes.text, steps)
    found = list(steps)
    for number, text in changes.subgoals.items():
        found[_index(number, steps)] = replace(found[_index(number, steps)], subgoal=_subgoal(number, text))
    for (number, place), text in changes.actions.items():
        step = found[_index(number, steps)]
        if not 1 <= place <= len(step.actions):
            raise SpecError(f"Subgoal {number} has no action {place}: it has {len(step.actions)}.")
        old, (action, result) = step.actions[place - 1], _action(number, place, text)
        if write_action(action) == write_action(old):
            result = result or step.results[place - 1]
        found[_index(number, steps)] = replace(
            step, actions=_replace_at(step.actions, place, action), results=_replace_at(step.results, place, result)
        )
    return tuple(found)


def _index(number: int, steps: Steps) -> int:
    if not 1 <= number <= len(steps):
        raise SpecError(f"The episode has no subgoal {number}: it has {len(steps)}.")
    return number - 1


def _replace_at(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    return (*values[: place - 1], value, *values[place:])


def _subgoal(number: int, text: str) -> Subgoal:
    text = unlabelled(_check_line(f"subgoal {number}", text))
    if not text:
        raise SpecError(f"Subgoal {number} has no text. To remove the subgoal, give the whole annotation with --file.")
    return Subgoal(number, f"Subgoal {number}: {text}")


def _action(number: int, place: int, text: str) -> tuple[Action, str]:
    label = f"Action {number}-{place}"
    read = read_action_line(f"{label}: {_check_line(label.lower(), text)}")
    if isinstance(read, Issue):
        raise SpecError(f"{label} is '{text[:80]}': {read.reason}. Expected R1 = Name(arguments).")
    return read


def _check_line(what: str, text: str) -> str:
    if len(text.splitlines()) > 1 or storable(text)[1]:
        raise SpecError(f"The text of {what} must be one line without control characters or invalid Unicode.")
    return text.strip()


def _read_whole(text: str, before: Steps) -> Steps:
    """The steps of a whole annotation. Unchanged subgoals keep their text, with or without a label."""
    needed = any(result for step in before for result in step.results)
    steps, issues = read_annotation(storable(text)[0], False)
    if issues and issues[0].reason == "no subgoals":
        raise SpecError(
            f"'{' '.join(text.split())[:60]}' is not an annotation: expected lines 'Subgoal 1: …' and "
            "'Action 1-1: R1 = …', as printed by lumos correct EPISODE --print."
        )
    if issues:
        raise SpecError(f"The annotation cannot be read: {issues[0].reason}, at '{issues[0].line[:80]}'.")
    known = {(unlabelled(step.subgoal.text), step.subgoal.number): step.subgoal for step in before}
    return tuple(
        AnnotatedSubgoal(
            known.get((unlabelled(step.subgoal.text), step.subgoal.number), step.subgoal),
            step.actions,
            step.results if needed else ("",) * len(step.actions),
        )
        for step in steps
    )
