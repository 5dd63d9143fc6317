"""LUMOS-O: plan every subgoal at once, ground them all at once, then run the actions in order.

If a QA tool gives the answer, the last action asks for it (spec/lumos.md 5.2). In version 1 the QA tool is asked again
after the last action, as in LUMOS-I after the planner has stopped; jobs that began with version 1 keep it.
"""

from __future__ import annotations

from lumos_queue.commands import Commands, Do, Final, Note
from lumos_queue.formulations.answer import History, conclude, last_value
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.formulations.module_replies import INSTRUCT, ask_all_actions, ask_plan
from lumos_queue.notation import strip_label
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.gold_replies import write_at_once
from lumos_queue.records import Ending, Outcome, Role, Task


def one_pass(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Make two model calls, and a third if the plan of an instruct model is empty.

    The first action that fails ends the episode, because later actions would depend on it.
    """
    dialogue = agent.dialogue(task, whole_plans=True)
    subgoals, plan = yield from ask_plan(agent, dialogue, version)
    if version >= INSTRUCT and agent.is_chat(Role.PLANNER) and not subgoals:
        return Outcome(None, Ending.UNREADABLE, "the planner's reply is empty")
    for subgoal in subgoals:
        yield Note(subgoal)
    actions = yield from ask_all_actions(agent, dialogue, plan, version)
    history: History = []
    final = None
    if version > 1 and agent.answer_by != "last":
        final = Final(agent.answer_by, strip_label(subgoals[-1].text) if subgoals else "")
    for number, action in enumerate(actions, start=1):
        execution = yield from Do(action, final if number == len(actions) else None)
        if not execution.ok:
            ending = Ending.ACTION_ERROR if action.variables else Ending.UNREADABLE
            return Outcome(None, ending, f"{action.raw}: {execution.message or execution.status}")
        history.append((action, execution))
        if execution.ends:
            return last_value(history)
    if not history:
        return Outcome(None, Ending.UNREADABLE, "the grounder's reply holds no action")
    return last_value(history) if version > 1 else (yield from conclude(agent, history, version=version))


FORMULATION = Formulation(
    "one-pass",
    one_pass,
    (Role.PLANNER, Role.GROUNDER),
    starter=True,
    write_gold=write_at_once,
    whole_plans=True,
    demonstrated=True,
    versioned=True,
    expected_calls=lambda subgoals, limit: 2,
)
