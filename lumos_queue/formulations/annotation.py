"""An annotation acted out: its subgoals are noted and its actions run. By rule no model is asked; else a teacher is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from lumos_queue.commands import Ask, Commands, Do, Note
from lumos_queue.records import TEACHER, Action, AnnotatedSubgoal, Completion, Execution, Outcome

#: An action with the result that the annotation states and the execution it had.
Checked = tuple[Action, str, Execution]


class AnnotationJudge(Protocol):
    """What checks a row's annotation (conversion/check.py: AnnotationCheck)."""

    @property
    def prompt(self) -> str: ...
    @property
    def images(self) -> tuple[str, ...]: ...
    def steps_to_act_out(self) -> Sequence[AnnotatedSubgoal]: ...
    def read(self, completion: Completion, /) -> Sequence[AnnotatedSubgoal]: ...
    def judge(self, action_checks: Sequence[Checked], /) -> Outcome: ...
    def should_retry(self, completion: Completion, /) -> bool: ...


def act_out_annotation(task: object, check: AnnotationJudge) -> Commands[Outcome]:
    """Act out the steps that the check has."""
    return check.judge((yield from act_out(check.steps_to_act_out())))


def teach(task: object, check: AnnotationJudge) -> Commands[Outcome]:
    """Ask the teacher, act out what it says, and ask again while the verdicts reject it and re-asks are left.

    1 + re-asks model calls at most. The steps after the last of them are the annotation.
    """
    while True:
        completion = yield from Ask(TEACHER, check.prompt, check.images)
        outcome = check.judge((yield from act_out(check.read(completion))))
        if not check.should_retry(completion):
            return outcome


def act_out(steps: Iterable[AnnotatedSubgoal]) -> Commands[list[Checked]]:
    """Note each subgoal and run its actions; returns what each action stated and gave."""
    action_checks: list[Checked] = []
    for step in steps:
        yield Note(step.subgoal)
        for action, stated_result in zip(step.actions, step.results, strict=True):
            action_checks.append((action, stated_result, (yield from Do(action))))
    return action_checks
