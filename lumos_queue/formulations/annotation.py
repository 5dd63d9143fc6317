"""Act out an annotation that a rule or a teacher made: note its subgoals and run its actions as an agent would."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from lumos_queue.commands import Ask, Commands, Do, Note
from lumos_queue.records import Action, AnnotatedSubgoal, Completion, Execution, Outcome, Role

#: An action, the result in the annotation, and its execution.
Checked = tuple[Action, str, Execution]


class AnnotationJudge(Protocol):
    """The interface of the check of a row's annotation; `conversion.check.AnnotationCheck` implements it."""

    @property
    def prompt(self) -> str: ...
    @property
    def images(self) -> tuple[str, ...]: ...
    def steps_to_act_out(self) -> Sequence[AnnotatedSubgoal]: ...
    def read(self, completion: Completion, /) -> Sequence[AnnotatedSubgoal]: ...
    def judge(self, action_checks: Sequence[Checked], /) -> Outcome: ...
    def should_retry(self, completion: Completion, /) -> bool: ...


def act_out_annotation(task: object, check: AnnotationJudge) -> Commands[Outcome]:
    """Act out the annotation that the check has, and return its outcome."""
    return check.judge((yield from act_out(check.steps_to_act_out())))


def teach(task: object, check: AnnotationJudge) -> Commands[Outcome]:
    """Ask the teacher and act out its reply; ask again while verdicts reject the reply and re-asks remain.

    The number of model calls is at most 1 + `reasks`. The steps after the last call are the annotation.
    """
    while True:
        completion = yield from Ask(Role.TEACHER, check.prompt, check.images)
        outcome = check.judge((yield from act_out(check.read(completion))))
        if not check.should_retry(completion):
            return outcome


class SampleJudge(Protocol):
    """The interface of several samples of a row's annotation; `conversion.samples.TeacherSamples` implements it."""

    @property
    def prompt(self) -> str: ...
    @property
    def images(self) -> tuple[str, ...]: ...
    def draw(self, completion: Completion, /) -> bool: ...
    def steps_to_act_out(self) -> Sequence[AnnotatedSubgoal]: ...
    def judge(self, action_checks: Sequence[Checked], /) -> Outcome: ...


def teach_samples(task: object, samples: SampleJudge) -> Commands[Outcome]:
    """Ask the teacher for samples, and act out the selected sample after the last call."""
    while samples.draw((yield from Ask(Role.TEACHER, samples.prompt, samples.images))):
        pass
    return samples.judge((yield from act_out(samples.steps_to_act_out())))


def act_out(steps: Iterable[AnnotatedSubgoal]) -> Commands[list[Checked]]:
    """Note each subgoal and run its actions. Return each action with its annotated result and its execution."""
    action_checks: list[Checked] = []
    for step in steps:
        yield Note(step.subgoal)
        for action, stated_result in zip(step.actions, step.results, strict=True):
            action_checks.append((action, stated_result, (yield from Do(action))))
    return action_checks
