"""Integrated: one model writes each subgoal together with its actions, and is sent the result.

The paper compares LUMOS with such a model but has no example of its texts, so this project has its own format.
"""

from __future__ import annotations

from lumos_queue.commands import Commands, Do, Note
from lumos_queue.formulations.answer import History, at_limit, conclude, last_value
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.formulations.module_replies import ask_solution
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.gold_replies import write_together
from lumos_queue.records import Ending, Outcome, Role, Task


def solve_integrated(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Make one model call for each of k subgoals, and one in which the model stops.

    At the limit of subgoals the model is not called again: k calls are made, and the ending is `limit`. If the solver
    is an instruct model and its reply has no subgoal, it is asked a second time.
    """
    dialogue = agent.dialogue(task)
    history: History = []
    for number in agent.subgoal_numbers():
        step = yield from ask_solution(agent, dialogue, number, version)
        if step.stops:
            return (yield from conclude(agent, history, version=version))
        if step.subgoal is None:
            return Outcome(None, Ending.UNREADABLE, f"the model's reply {number} holds no subgoal")
        yield Note(step.subgoal)
        dialogue.add_solution(step.text, step.subgoal, step.grounding)
        for action in step.actions:
            execution = yield from Do(action)
            dialogue.observe(action, execution)
            history.append((action, execution))
            if execution.ends:
                return last_value(history)
    return (yield from at_limit(agent, history, version))


FORMULATION = Formulation(
    "integrated",
    solve_integrated,
    (Role.SOLVER,),
    write_gold=write_together,
    limited=True,
    demonstrated=True,
    versioned=True,
)
