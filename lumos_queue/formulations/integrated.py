"""Integrated: one model writes each subgoal together with its actions, and is told the result.

The paper compares with such a model and shows no text of it: this wire format was made for this project.
"""

from __future__ import annotations

from lumos_queue.commands import Ask, Commands, Do, Note
from lumos_queue.formulations.answer import History, at_limit, conclude, last_value
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.notation import says_stop
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.single_model import read_integrated
from lumos_queue.records import Ending, Outcome, Task


def solve_integrated(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """One model call for each of k subgoals, and one more in which the model says that it stops.

    At the limit of subgoals no further call is made: k calls, ending `limit`.
    """
    dialogue = agent.dialogue(task)
    history: History = []
    for number in agent.subgoal_numbers():
        reply = yield from Ask("solver", dialogue.to_solver())
        if says_stop(reply.text):
            return (yield from conclude(agent, history, version=version))
        subgoal, grounding = read_integrated(reply.text, number)
        if subgoal is None:
            return Outcome(None, Ending.UNREADABLE, f"the model's reply {number} holds no subgoal")
        yield Note(subgoal)
        dialogue.add_solution(reply.text, subgoal, grounding)
        for action in dialogue.read(grounding):
            execution = yield from Do(action)
            dialogue.observe(action, execution)
            history.append((action, execution))
            if execution.ends:
                return last_value(history)
    return (yield from at_limit(agent, history, version))


FORMULATION = Formulation("integrated", solve_integrated, ("solver",), limited=True, demonstrated=True, versioned=True)
