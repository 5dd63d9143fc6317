"""LUMOS-O: plan every subgoal at once, ground them all at once, then run the actions in order.

Where a QA tool gives the answer, the last action asks for it (spec/lumos.md 5.2). Version 1 asked once more instead,
as LUMOS-I does when its planner stops; jobs that were begun so go on so.
"""

from __future__ import annotations

from lumos_queue.commands import Ask, Do, Final, Note
from lumos_queue.formulations.answer import conclude, last_value
from lumos_queue.notation import read_plan, unlabelled
from lumos_queue.records import Outcome


def one_pass(task, agent, version=2):
    """Two model calls. The first action that fails ends the episode, as later ones would build on it."""
    talk = agent.dialogue(task)
    plan = yield Ask("planner", talk.to_planner())
    subgoals = read_plan(plan.text)
    for subgoal in subgoals:
        yield Note(subgoal)
    grounding = yield Ask("grounder", talk.to_grounder_all(plan.text))
    seen, actions = [], talk.read(grounding.text)
    final = None
    if version > 1 and agent.answer_by != "last":
        final = Final(agent.answer_by, unlabelled(subgoals[-1].text) if subgoals else "")
    for number, action in enumerate(actions, start=1):
        execution = yield Do(action, final if number == len(actions) else None)
        if not execution.ok:
            ending = "action_error" if action.variables else "unreadable"
            return Outcome(None, ending, f"{action.raw}: {execution.message or execution.status}")
        seen.append((action, execution))
        if execution.ends:
            return last_value(seen)
    if not seen:
        return Outcome(None, "unreadable", "the grounder's reply holds no action")
    return last_value(seen) if version > 1 else (yield from conclude(task, agent, seen, version=version))
