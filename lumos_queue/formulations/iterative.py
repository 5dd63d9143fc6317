"""LUMOS-I: plan one subgoal, ground it, run it, and let the result shape the next."""

from __future__ import annotations

from lumos_queue.commands import Ask, Commands, Do, Note
from lumos_queue.formulations.answer import History, at_limit, conclude, last_value
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.notation import read_subgoal, says_stop
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Ending, Outcome, Task


def iterative(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Two model calls for each of k subgoals, and one more in which the planner says that it stops.

    At the limit of subgoals no further call is made: 2k calls, ending `limit`.
    """
    dialogue = agent.dialogue(task)
    history: History = []
    for number in agent.subgoal_numbers():
        plan = yield from Ask("planner", dialogue.to_planner())
        if says_stop(plan.text):
            return (yield from conclude(agent, history, version=version))
        subgoal = read_subgoal(plan.text, number)
        if subgoal is None:
            return Outcome(None, Ending.UNREADABLE, f"the planner's reply {number} is empty")
        yield Note(subgoal)
        dialogue.add_plan(plan.text, subgoal)
        grounding = yield from Ask("grounder", dialogue.to_grounder())
        for action in dialogue.add_grounding(grounding.text):
            execution = yield from Do(action)
            dialogue.observe(action, execution)
            history.append((action, execution))
            if execution.ends:
                return last_value(history)
    return (yield from at_limit(agent, history, version))


FORMULATION = Formulation(
    "iterative",
    iterative,
    ("planner", "grounder"),
    limited=True,
    demonstrated=True,
    versioned=True,
    expected_calls=lambda subgoals, limit: 2 * subgoals + (subgoals < limit),
)
