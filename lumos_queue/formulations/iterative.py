"""LUMOS-I: plan one subgoal, ground it, run it, and let the result shape the next."""

from __future__ import annotations

from lumos_queue.commands import Ask, Do, Note
from lumos_queue.formulations.answer import at_limit, conclude, last_value
from lumos_queue.notation import read_subgoal, says_stop
from lumos_queue.records import Outcome


def iterative(task, agent, version=2):
    """Two model calls for each of k subgoals, and one more in which the planner says that it stops.

    At the limit of subgoals nobody is asked again: 2k calls, ending `limit`.
    """
    talk = agent.dialogue(task)
    seen = []
    for number in agent.subgoal_numbers():
        plan = yield Ask("planner", talk.to_planner())
        if says_stop(plan.text):
            return (yield from conclude(task, agent, seen, version=version))
        subgoal = read_subgoal(plan.text, number)
        if subgoal is None:
            return Outcome(None, "unreadable", f"the planner's reply {number} is empty")
        yield Note(subgoal)
        talk.planned(plan.text, subgoal)
        grounding = yield Ask("grounder", talk.to_grounder())
        for action in talk.grounded(grounding.text):
            execution = yield Do(action)
            talk.saw(action, execution)
            seen.append((action, execution))
            if execution.ends:
                return last_value(seen)
    return (yield from at_limit(task, agent, seen, version))
