"""Samples of a teacher for one row: the first that agrees with another is taken, else the first that passes all checks.

All samples are drawn before one is acted out, because the steps after the teacher's last reply are the annotation. So
each sample is judged with predicted results: those of arithmetic are computed, and others are taken as stated. The
selected sample is then acted out and judged again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from lumos_queue.conversion.agreement import identify_formulas
from lumos_queue.conversion.check import AnnotationCheck, ExecutedAction
from lumos_queue.conversion.oracle import take_as_stated
from lumos_queue.conversion.verdicts import make_verdicts, rejections
from lumos_queue.notation import variables_in
from lumos_queue.rationales.maths.expressions import StepResult, evaluate, format_expression, leaves, parse_arguments
from lumos_queue.rationales.maths.program import is_too_large
from lumos_queue.records import Action, AnnotatedSubgoal, Completion, Execution, Outcome, Verdict
from lumos_queue.scoring.numbers import show_number
from lumos_queue.scoring.numeric import read_number


@dataclass
class TeacherSamples:
    """The samples of one row. Their prompts depend on the replies alone, so a replayed episode has the same."""

    make_check: Callable[[], AnnotationCheck]  #: returns the check of a new sample, with the first prompt
    count: int  #: of samples, unless two agree before
    selected: AnnotationCheck = field(init=False)  #: the sample that is being drawn; in the end the selected one
    _samples: list[AnnotationCheck] = field(default_factory=list)  # those that are complete
    _passing: list[AnnotationCheck] = field(default_factory=list)  # those of them that pass all checks

    def __post_init__(self) -> None:
        self.selected = self.make_check()

    @property
    def prompt(self) -> str:
        return self.selected.prompt

    @property
    def images(self) -> tuple[str, ...]:
        return self.selected.images

    def draw(self, completion: Completion) -> bool:
        """Read a reply, and return whether the teacher must be asked again; then `prompt` is its next prompt.

        A rejected sample is requested again while its re-asks remain. After the last call, the selected sample is the
        first that passes and agrees with another; else the first that passes; else the last one.
        """
        sample = self.selected
        sample.read(completion)
        verdicts = predict_verdicts(sample)
        if sample.should_retry(completion, verdicts):
            return True
        self._samples.append(sample)
        if not rejections(verdicts):
            self._passing.append(sample)
        agreeing = self._list_agreeing()
        if len(self._samples) < self.count and not agreeing:
            self.selected = self.make_check()
            return True
        self.selected = (agreeing or self._passing or self._samples[-1:])[0]
        return False

    def steps_to_act_out(self) -> tuple[AnnotatedSubgoal, ...]:
        """Return the steps of the selected sample; none for an unusable reply."""
        return self.selected.steps_to_act_out() if self.selected.is_usable else ()

    def judge(self, executions: Sequence[ExecutedAction]) -> Outcome:
        """Judge the selected sample by its executed actions, and note whether another agrees with it."""
        outcome = self.selected.judge(executions)
        if (agreeing := self._list_agreeing()) and not rejections(self.selected.verdicts):
            self.selected.verdicts += make_verdicts(
                "samples agree", f"{len(agreeing)} of {len(self._samples)} samples have these formulas and links"
            )
        return outcome

    def _list_agreeing(self) -> list[AnnotationCheck]:
        """Return the samples that pass and agree with the first of them that agrees with another."""
        formulas = [identify_formulas(sample.steps) for sample in self._passing]
        for first in formulas:
            agreeing = [sample for sample, other in zip(self._passing, formulas, strict=True) if other == first]
            if len(agreeing) > 1:
                return agreeing
        return []


def predict_verdicts(check: AnnotationCheck) -> list[Verdict]:
    """Return the verdicts that an annotation will have after it is acted out, as far as its results are predictable."""
    if not check.is_usable:
        return check.verdicts
    copy = replace(check, verdicts=list(check.verdicts))
    copy.judge(list(_predict(check.steps)))
    return copy.verdicts


def _predict(steps: Sequence[AnnotatedSubgoal]) -> Iterator[ExecutedAction]:
    values: dict[str, Fraction | None] = {}
    for step in steps:
        for action, result in zip(step.actions, step.results, strict=True):
            execution = _compute(action, values) or take_as_stated(action, result)
            if execution.ok:
                values |= {
                    variable: read_number(value["text"])
                    for variable, value in zip(action.variables, execution.values, strict=False)
                }
            yield action, result, execution


def _compute(action: Action, values: dict[str, Fraction | None]) -> Execution | None:
    """Return the execution of arithmetic; None for another action, and for arithmetic with values that are unknown."""
    expression = parse_arguments(action.arguments) if action.name == "Calculator" else None
    if expression is None or len(action.variables) != 1:
        return None
    if any(values.get(variable) is None for variable in variables_in(action.arguments)):
        return None
    numbers = {leaf.number for leaf in leaves(expression) if isinstance(leaf, StepResult)}
    known_values = {number: value for number in numbers if (value := values.get(f"R{number}")) is not None}
    if known_values.keys() != numbers or 0 in numbers:
        return None
    results = [known_values.get(number, Fraction(0)) for number in range(1, max(numbers, default=0) + 1)]
    try:
        value = evaluate(expression, results)
    except ZeroDivisionError:
        return Execution("division_by_zero", message="a division by zero")
    if is_too_large(value):
        return None
    text = show_number(value, any("." in format_expression(leaf) for leaf in leaves(expression)))
    return Execution("ok", text, ({"kind": "number", "text": text},))
