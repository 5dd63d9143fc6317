"""Integrated: one model writes each subgoal together with its actions, and is told the result.

The paper compares with such a model and shows no text of it: this is a wire format of our own.
"""

from __future__ import annotations

from lumos_queue.commands import Ask, Do, Note
from lumos_queue.formulations.answer import at_limit, conclude, last_value
from lumos_queue.notation import says_stop
from lumos_queue.prompts.single_model import read_integrated
from lumos_queue.records import Outcome


def integrated(task, agent, version=2):
    """One model call for each of k subgoals, and one more in which the model says that it stops.

    At the limit of subgoals nobody is asked again: k calls, ending `limit`.
    """
    talk = agent.dialogue(task)
    seen = []
    for number in agent.subgoal_numbers():
        reply = yield Ask("solver", talk.to_solver())
        if says_stop(reply.text):
            return (yield from conclude(task, agent, seen, version=version))
        subgoal, grounding = read_integrated(reply.text, number)
        if subgoal is None:
            return Outcome(None, "unreadable", f"the model's reply {number} holds no subgoal")
        yield Note(subgoal)
        talk.solved(reply.text, subgoal, grounding)
        for action in talk.read(grounding):
            execution = yield Do(action)
            talk.saw(action, execution)
            seen.append((action, execution))
            if execution.ends:
                return last_value(seen)
    return (yield from at_limit(task, agent, seen, version))
