"""LUMOS-I: plan one subgoal, ground it, run it, and plan the next with its result."""

from __future__ import annotations

from lumos_queue.commands import Commands, Do, Note
from lumos_queue.formulations.answer import History, at_limit, conclude, last_value
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.formulations.module_replies import ask_actions, ask_subgoal
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.gold_replies import write_stepwise
from lumos_queue.records import Ending, Outcome, Role, Task


def iterative(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Make two model calls for each of k subgoals, and one in which the planner stops.

    At the limit of subgoals the planner is not called again: 2k calls are made, and the ending is `limit`. If the
    planner is an instruct model and its reply has no subgoal, `ask_subgoal` asks a second time.
    """
    dialogue = agent.dialogue(task)
    history: History = []
    for number in agent.subgoal_numbers():
        plan = yield from ask_subgoal(agent, dialogue, number, version)
        if plan.stops:
            return (yield from conclude(agent, history, version=version))
        subgoal = plan.subgoal
        if subgoal is None:
            return Outcome(None, Ending.UNREADABLE, f"the planner's reply {number} is empty")
        yield Note(subgoal)  # a plain `yield`: a Note has no result. `yield from Do` returns the result with its type
        dialogue.add_plan(plan.text, subgoal)
        for action in (yield from ask_actions(agent, dialogue, subgoal, version)):
            execution = yield from Do(action)
            dialogue.observe(action, execution)
            history.append((action, execution))
            if execution.ends:
                return last_value(history)
    return (yield from at_limit(agent, history, version))


FORMULATION = Formulation(
    "iterative",
    iterative,
    (Role.PLANNER, Role.GROUNDER),
    starter=True,
    write_gold=write_stepwise,
    limited=True,
    demonstrated=True,
    versioned=True,
    expected_calls=lambda subgoals, limit: 2 * subgoals + (subgoals < limit),
)
