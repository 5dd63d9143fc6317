"""Teacher forcing on recorded pages: each step is tried as if everything before it had been done right.

The planner is told what the person did (spec/lumos.md 5.3); the grounder sees its own earlier replies.
"""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.actions.web.recorded import sentence
from lumos_queue.commands import Ask, Commands, Do, Note
from lumos_queue.errors import EpisodeError
from lumos_queue.formulations.base import Formulation
from lumos_queue.notation import read_subgoal, says_stop
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Ending, Outcome, Subgoal, Task


def teacher_forced(task: Task, agent: Agent) -> Commands[Outcome]:
    """Two model calls and one action for each recorded step, the first action of the grounder's reply.

    A step at which the planner stops, or a model says nothing, has an action that cannot be read. Steps that were not
    recorded are told, and not tried. The recording sets the number of steps, not the agent's limit.
    """
    if "steps" not in task.inputs:
        raise EpisodeError(Ending.NO_ANSWER, "teacher-forced needs recorded pages, and this task has none")
    dialogue = agent.dialogue(task)
    shown: list[str] = []
    recorded = {page["step"] for page in task.inputs["steps"]}
    previous: Sequence[str] = task.inputs["previous"]
    for index in range(max(recorded) + 1):
        done = sentence(previous[index]) if index < len(previous) else ""  # the last one is never told
        told = Subgoal(index + 1, f"Subgoal {index + 1}: {done}")
        if index not in recorded:
            dialogue.add_plan(told.text, told)
            continue
        plan = yield from Ask("planner", dialogue.to_planner())
        subgoal = None if says_stop(plan.text) else read_subgoal(plan.text, told.number)
        dialogue.add_plan(told.text, subgoal or told)
        actions: Sequence[Action] = ()
        if subgoal:
            yield Note(subgoal)
            grounding = yield from Ask("grounder", dialogue.to_grounder())
            actions = dialogue.add_grounding(grounding.text)
        execution = yield from Do(actions[0] if actions else Action((), "", "", plan.text))
        shown.append(execution.result if execution.ok else f"({execution.status})")
        dialogue.override_subgoal(told)
    return Outcome("; ".join(shown), Ending.ANSWERED)


FORMULATION = Formulation("teacher-forced", teacher_forced, ("planner", "grounder"), trainable=False)
