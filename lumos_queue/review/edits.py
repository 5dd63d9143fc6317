"""What a person changes of an annotation, and the steps that come out: nothing is run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.notation import Issue, read_action_line, read_annotation, strip_label, write_action
from lumos_queue.records import Action, AnnotatedSubgoal, Subgoal
from lumos_queue.util.sanitize import storable

Steps = tuple[AnnotatedSubgoal, ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a person wants changed. Numbers count from 1."""

    subgoals: Mapping[int, str] = field(default_factory=dict)  #: by number; the label may be left out
    actions: Mapping[tuple[int, int], str] = field(default_factory=dict)  #: by subgoal and place, as `R1 = Name(…)`
    text: str = ""  #: instead of both: the whole annotation, as `annotation_text` writes it


def changed(steps: Steps, changes: Changes) -> Steps:
    """The steps with the changes; a new action has the result that the person states, or ''.

    Raises SpecError for a place that is not there, and for a text that cannot be read.
    """
    if changes.text:
        return _whole(changes.text, steps)
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
            step, actions=_put(step.actions, place, action), results=_put(step.results, place, result)
        )
    return tuple(found)


def _index(number: int, steps: Steps) -> int:
    if not 1 <= number <= len(steps):
        raise SpecError(f"The episode has no subgoal {number}: it has {len(steps)}.")
    return number - 1


def _put(values: tuple, place: int, value: Any) -> tuple:
    return (*values[: place - 1], value, *values[place:])


def _subgoal(number: int, text: str) -> Subgoal:
    text = strip_label(_line(f"subgoal {number}", text))
    if not text:
        raise SpecError(f"Subgoal {number} has no text. To leave it out, give all of it with --file.")
    return Subgoal(number, f"Subgoal {number}: {text}")


def _action(number: int, place: int, text: str) -> tuple[Action, str]:
    label = f"Action {number}-{place}"
    read = read_action_line(f"{label}: {_line(label.lower(), text)}")
    if isinstance(read, Issue):
        raise SpecError(f"{label} is '{text[:80]}': {read.reason}. Expected R1 = Name(arguments).")
    return read


def _line(what: str, text: str) -> str:
    if len(text.splitlines()) > 1 or storable(text)[1]:
        raise SpecError(f"The text of {what} must be one line without characters that no text can hold.")
    return text.strip()


def _whole(text: str, before: Steps) -> Steps:
    """The steps of a whole annotation. Subgoals that it leaves as they were keep their text, label or none."""
    needed = any(result for step in before for result in step.results)
    steps, issues = read_annotation(storable(text)[0], False)
    if issues and issues[0].reason == "no subgoals":
        raise SpecError(
            f"'{' '.join(text.split())[:60]}' is no annotation: expected lines 'Subgoal 1: …' and "
            "'Action 1-1: R1 = …', as lumos correct EPISODE --print gives them."
        )
    if issues:
        raise SpecError(f"The annotation cannot be read: {issues[0].reason}, at '{issues[0].line[:80]}'.")
    known = {(strip_label(step.subgoal.text), step.subgoal.number): step.subgoal for step in before}
    return tuple(
        AnnotatedSubgoal(
            known.get((strip_label(step.subgoal.text), step.subgoal.number), step.subgoal),
            step.actions,
            step.results if needed else ("",) * len(step.actions),
        )
        for step in steps
    )
