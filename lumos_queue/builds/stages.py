"""Divide an episode into stages: each subgoal with its replies and actions.

Instruct models may reply in another notation than LUMOS's. Such a reply is rewritten from the subgoals or actions that
were read from it, so that every model reads the same from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from db.journal.step_records import RecordedStep, select_annotated_steps
from lumos_queue.formulations.answer import CONCLUSION
from lumos_queue.notation import (
    STOP_PLANNING,
    TOO_MANY,
    read_actions,
    read_plan,
    read_subgoal,
    says_stop,
    write_action,
    write_actions,
    write_plan,
    write_subgoal,
)
from lumos_queue.prompts.instruct_subgoals import read_next_subgoal
from lumos_queue.records import Action, AnnotatedSubgoal, Completion, Execution, Role, Subgoal
from lumos_queue.scoring.numeric import same_number


@dataclass(slots=True)
class Stage:
    """One subgoal with the replies of planner and grounder, and the results of the actions."""

    subgoal: Subgoal
    plan: str
    grounding: str = ""
    executions: list[tuple[Action, Execution]] = field(default_factory=list)

    @property
    def value(self) -> str | None:
        """The result of the stage's last action; None if that action failed, or without actions."""
        return self.executions[-1][1].result if self.executions and self.executions[-1][1].ok else None

    def lines(self) -> str:
        """Return the subgoal and, below it, each action with its result: the text that a judge of the step reads."""
        lines = [
            f"{write_action(action)}{f' = {execution.result}' if execution.ok else ''}"
            for action, execution in self.executions
        ]
        return "\n".join([self.subgoal.text, *lines])


def stages_of(steps: Sequence[RecordedStep]) -> list[Stage]:
    """Return the stages of an iterative or annotated episode. Missing replies are written from the steps."""
    stages: list[Stage] = []
    plan = ""
    for step in select_annotated_steps(steps):
        if isinstance(step.detail, Action) and step.detail.name == CONCLUSION:
            continue  # it belongs to the whole episode: the formulation wrote it, not the grounder
        if isinstance(step.detail, Subgoal):
            stages.append(Stage(step.detail, _write_plan(plan, [step.detail])))
            plan = ""
        elif isinstance(step.result, Completion) and step.role == Role.PLANNER:
            plan = step.result.text
        elif isinstance(step.result, Completion) and step.role == Role.GROUNDER and stages:
            stages[-1].grounding = step.result.text
        elif isinstance(step.detail, Action) and isinstance(step.result, Execution) and stages:
            stages[-1].executions.append((step.detail, step.result))
    for stage in stages:
        actions = [action for action, _ in stage.executions]
        stage.grounding = _write_grounding(stage.grounding, actions) if stage.grounding else write_actions(actions)
    return stages


def replies_of(steps: Sequence[RecordedStep], role: str) -> list[str]:
    """Return the replies of the role, in order; for an annotated episode, replies that are written from its steps.

    If the planner was asked again after a reply without a subgoal, that reply is left out.
    """
    replies: list[tuple[str, list[Subgoal], list[Action]]] = []
    for step in select_annotated_steps(steps):
        if step.role == role and isinstance(step.result, Completion):
            replies.append((step.result.text, [], []))
        elif replies and isinstance(step.detail, Subgoal):
            replies[-1][1].append(step.detail)
        elif replies and isinstance(step.detail, Action) and step.detail.name != CONCLUSION:
            replies[-1][2].append(step.detail)
    if not replies:
        stages = stages_of(steps)
        return (
            [*(stage.plan for stage in stages), STOP_PLANNING]
            if role == Role.PLANNER
            else [stage.grounding for stage in stages]
        )
    if role != Role.PLANNER:
        return [_write_grounding(text, actions) for text, _, actions in replies]
    *earlier, (last, subgoals, _) = replies
    plans = [_write_plan(text, notes) for text, notes, _ in earlier if notes or says_stop(text)]
    return [*plans, _write_plan(last, subgoals) if subgoals else _write_end(last, len(plans) + 1)]


def _write_plan(reply: str, subgoals: Sequence[Subgoal]) -> str:
    """Return a planner's reply from which these subgoals are read: the original reply, if they are read from it."""
    first, *rest = subgoals
    if reply and (tuple(subgoals) == read_plan(reply) if rest else read_subgoal(reply, first.number) == first):
        return reply
    return write_plan(subgoals) if rest else write_subgoal(first)


def _write_end(reply: str, number: int) -> str:
    """Return a planner's last reply: the original reply, unless LUMOS's notation would read a subgoal from it."""
    if says_stop(reply) or read_subgoal(reply, number) is None:
        return reply
    return STOP_PLANNING if read_next_subgoal(reply, number).stops else ""


def _write_grounding(reply: str, actions: Sequence[Action]) -> str:
    """Return the grounder's reply if it reads as these actions, alone or after `R1 = `; otherwise write a new one."""
    essences = [_essence(action) for action in actions if action.name != TOO_MANY]
    for text in (reply, f"R1 = {reply.strip()}"):
        for calls in (True, False):
            if essences == [_essence(action) for action in read_actions(text, calls)[: len(essences)]]:
                return reply
    return "; ".join(action.raw or write_action(action) for action in actions)


def _essence(action: Action) -> tuple[tuple[str, ...], str, str]:
    return action.variables, action.name, action.arguments


def whole_plan(steps: Sequence[RecordedStep]) -> list[str]:
    """Return the planner's replies with the stop as the last; it is added if the episode reached its limit first."""
    replies = replies_of(steps, Role.PLANNER)
    return replies if replies and says_stop(replies[-1]) else [*replies, STOP_PLANNING]


def matches_gold_step(stage: Stage, gold: AnnotatedSubgoal) -> bool:
    """Whether a stage and a gold step are interchangeable: they have the same variables and the same last value."""
    if stage.value is None or not gold.results:
        return False
    variables = [action.variables for action, _ in stage.executions]
    return variables == [action.variables for action in gold.actions] and same_value(stage.value, gold.results[-1])


def same_value(first: str, second: str) -> bool:
    """Whether two texts are the same number in any notation, or the same text apart from capitals and spaces."""
    return same_number(first, second) or first.casefold().split() == second.casefold().split()
