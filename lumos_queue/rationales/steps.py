"""Builds an annotation from texts: numbers its actions, and checks that writing and reading do not change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lumos_queue.notation import read_annotation, variables_in, write_action, write_annotation
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Subgoal


@dataclass
class Steps:
    """Collects the subgoals of an annotation. Actions are numbered across subgoals: action k sets Rk."""

    subgoals: list[AnnotatedSubgoal] = field(default_factory=list)
    last: int = 0  #: number of the last variable set

    def add(self, text: str, actions: Sequence[tuple[str, str, str]]) -> str:
        """Add a subgoal with its actions (name, arguments, result). Return the variable of the last action."""
        number = len(self.subgoals) + 1
        numbered_actions = []
        for name, arguments, _ in actions:
            self.last += 1
            action = Action((f"R{self.last}",), name, arguments)
            numbered_actions.append(Action(action.variables, name, arguments, write_action(action)))
        results = tuple(result for _, _, result in actions)
        self.subgoals.append(
            AnnotatedSubgoal(Subgoal(number, f"Subgoal {number}: {text}"), tuple(numbered_actions), results)
        )
        return f"R{self.last}"

    def finish(self, answer: str, results: bool = True) -> Annotation:
        """Return the annotation. Raises NotConvertible if writing and reading change it.

        `results`: whether its actions have results (web actions have none).
        """
        steps = tuple(self.subgoals)
        parsed_steps, issues = read_annotation(write_annotation(steps), results)
        if issues or list(map(_content, parsed_steps)) != list(map(_content, steps)):
            raise NotConvertible("unwritable")
        return Annotation(steps, answer)


def _content(step: AnnotatedSubgoal) -> tuple[object, ...]:
    actions = [(action.variables, action.name, action.arguments) for action in step.actions]
    return step.subgoal, actions, step.results


def reject_variables(*texts: str) -> None:
    """Raise NotConvertible if a text contains the name of a variable, such as `R2`."""
    if any(map(variables_in, texts)):
        raise NotConvertible("unwritable")
