"""An episode divided at its subgoals: each with the replies and actions that belong to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from db.recorded import RecordedStep, annotated_steps
from lumos_queue.formulations.answer import CONCLUSION
from lumos_queue.notation import STOP_PLANNING, says_stop, write_action, write_actions, write_subgoal
from lumos_queue.records import Action, AnnotatedSubgoal, Completion, Execution, Subgoal
from lumos_queue.scoring.numeric import same_number


@dataclass(slots=True)
class Stage:
    """One subgoal, what the planner and the grounder replied, and what the actions gave."""

    subgoal: Subgoal
    plan: str
    grounding: str = ""
    done: list[tuple[Action, Execution]] = field(default_factory=list)

    @property
    def value(self) -> str | None:
        """What its last action gave; None when that failed or there is no action."""
        return self.done[-1][1].result if self.done and self.done[-1][1].ok else None

    def lines(self) -> str:
        """The subgoal, and below it each action with its result: what a judge of the step is shown."""
        shown = [f"{write_action(action)}{f' = {ran.result}' if ran.ok else ''}" for action, ran in self.done]
        return "\n".join([self.subgoal.text, *shown])


def stages_of(steps: Sequence[RecordedStep]) -> list[Stage]:
    """The stages of an iterative episode, or of an annotated one, whose replies are written from what it notes."""
    stages: list[Stage] = []
    plan = ""
    for step in annotated_steps(steps):
        if isinstance(step.detail, Action) and step.detail.name == CONCLUSION:
            continue  # it belongs to the whole episode: the formulation wrote it, not the grounder
        if isinstance(step.detail, Subgoal):
            stages.append(Stage(step.detail, plan or write_subgoal(step.detail)))
            plan = ""
        elif isinstance(step.result, Completion) and step.role == "planner":
            plan = step.result.text
        elif isinstance(step.result, Completion) and step.role == "grounder" and stages:
            stages[-1].grounding = step.result.text
        elif isinstance(step.detail, Action) and isinstance(step.result, Execution) and stages:
            stages[-1].done.append((step.detail, step.result))
    for stage in stages:
        stage.grounding = stage.grounding or write_actions(action for action, _ in stage.done)
    return stages


def replies_of(steps: Sequence[RecordedStep], role: str) -> list[str]:
    """What the role replied, in order; of an annotated episode, what it would have replied."""
    said = [
        step.result.text for step in annotated_steps(steps) if step.role == role and isinstance(step.result, Completion)
    ]
    if said:
        return said
    stages = stages_of(steps)
    return [*(stage.plan for stage in stages), STOP_PLANNING] if role == "planner" else [s.grounding for s in stages]


def whole_plan(steps: Sequence[RecordedStep]) -> list[str]:
    """The planner's replies up to the one that stops, which is added where the limit of subgoals came first."""
    said = replies_of(steps, "planner")
    return said if said and says_stop(said[-1]) else [*said, STOP_PLANNING]


def matches_gold_step(stage: Stage, gold: AnnotatedSubgoal) -> bool:
    """Whether a stage did what a gold step does: the same value last, in the same variables, so either may go on."""
    if stage.value is None or not gold.results:
        return False
    own = [action.variables for action, _ in stage.done]
    return own == [action.variables for action in gold.actions] and same_value(stage.value, gold.results[-1])


def same_value(one: str, other: str) -> bool:
    """The same number however written, or the same text but for capitals and spaces."""
    return same_number(one, other) or one.casefold().split() == other.casefold().split()
