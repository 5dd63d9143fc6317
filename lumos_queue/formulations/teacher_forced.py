"""Teacher forcing on recorded pages: the agent tries each step as if all its earlier steps had been right.

The planner is sent the recorded person's actions as history (spec/lumos.md 5.3), the grounder its own earlier replies.
"""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.actions.web.recorded_action import sentence
from lumos_queue.commands import Commands, Do, Note
from lumos_queue.errors import EpisodeError
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.formulations.module_replies import ask_actions, ask_subgoal
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Ending, Outcome, Role, Subgoal, Task


def teacher_forced(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Make two model calls for each recorded step, and run the first action of the grounder's reply.

    If the planner stops at a step, or if a reply is empty, the step has an unreadable action. Steps without a recorded
    page are in the planner's history, but are not tried. The recording sets the number of steps, not the agent's limit.
    """
    if "steps" not in task.inputs:
        raise EpisodeError(Ending.NO_ANSWER, "teacher-forced needs recorded pages, and this task has none")
    dialogue = agent.dialogue(task)
    observations: list[str] = []
    recorded_steps = {page["step"] for page in task.inputs["steps"]}
    previous: Sequence[str] = task.inputs["previous"]
    for index in range(max(recorded_steps) + 1):
        action_text = sentence(previous[index]) if index < len(previous) else ""  # the last is never sent
        gold_subgoal = Subgoal(index + 1, f"Subgoal {index + 1}: {action_text}")
        if index not in recorded_steps:
            dialogue.add_plan(gold_subgoal.text, gold_subgoal)
            continue
        plan = yield from ask_subgoal(agent, dialogue, gold_subgoal.number, version)
        subgoal = plan.subgoal
        dialogue.add_plan(gold_subgoal.text, subgoal or gold_subgoal)
        actions: Sequence[Action] = ()
        if subgoal:
            yield Note(subgoal)
            actions = yield from ask_actions(agent, dialogue, subgoal, version)
        execution = yield from Do(actions[0] if actions else Action((), "", "", plan.text))
        observations.append(execution.result if execution.ok else f"({execution.status})")
        dialogue.override_subgoal(gold_subgoal)
    return Outcome("; ".join(observations), Ending.ANSWERED)


FORMULATION = Formulation("teacher-forced", teacher_forced, (Role.PLANNER, Role.GROUNDER), versioned=True)
