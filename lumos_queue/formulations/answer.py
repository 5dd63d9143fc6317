"""The answer that an episode's executions leave behind."""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.commands import Commands, Do, Final
from lumos_queue.formulations.base import VERSION
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Ending, Execution, Outcome
from lumos_queue.scoring.limit import AtLimit

ANSWERING = ("QA", "Calculator")  #: actions whose values are answers
CONCLUSION = "Conclude"  #: the action that makes one answer of them: it is added here, not written by a grounder

History = list[tuple[Action, Execution]]  #: the actions of an episode so far, in order


def conclude(
    agent: Agent, history: History, ending: Ending = Ending.ANSWERED, version: int = VERSION
) -> Commands[Outcome]:
    """The answer of an agent that stopped: the last value, or what the QA tool makes of all its answers.

    The latter, `answer_by` 'qa' or 'yes/no', is how LUMOS answers questions (spec/lumos.md 5.2). An agent that names
    its `Output` means it. Version 1 let the last answer stand without a semicolon behind it.
    """
    setters = [(name, action) for action, execution in history if execution.ok for name in action.variables]
    answers = [name for name, action in setters if action.name in ANSWERING]
    if agent.answer_by == "last" or not answers or any(name == "Output" for name, _ in setters):
        return last_value(history, ending)
    names = f"[{', '.join(dict.fromkeys(answers))}]"
    arguments = f"{names} yes/no" if agent.answer_by == "yes/no" else names
    action = Action(("Output",), CONCLUSION, arguments, f"Output = {CONCLUSION}({arguments})")
    execution = yield from Do(action, Final(agent.answer_by) if version > 1 else None)
    return last_value([*history, (action, execution)], ending)


def at_limit(agent: Agent, history: History, version: int = VERSION) -> Commands[Outcome]:
    """The answer of an agent that reached its limit of subgoals (limit.py); where none counts, the last value."""
    if agent.at_limit == AtLimit.CONCLUDE:
        return (yield from conclude(agent, history, Ending.LIMIT, version))
    return last_value(history, Ending.LIMIT)


def last_value(history: Sequence[tuple[Action, Execution]], ending: Ending = Ending.ANSWERED) -> Outcome:
    """The value of `Output` if it was set, else of the highest-numbered `R` (LUMOS evaluation of maths).

    No readable action at all is `unreadable`; an action that failed to set that variable is `action_error`.
    `ending` is that of an episode that has its answer.
    """
    if not history:
        return Outcome(None, Ending.NO_ANSWER, "the planner stopped before anything was executed")
    setters = {
        variable: (index, execution) for action, execution in history for index, variable in enumerate(action.variables)
    }
    if not setters:
        return Outcome(None, Ending.UNREADABLE, "no action could be read")
    final = "Output" if "Output" in setters else max(setters, key=lambda name: int(name[1:]))
    index, execution = setters[final]
    if not execution.ok:
        return Outcome(None, Ending.ACTION_ERROR, f"{final}: {_why(execution)}{_first_failure(history, execution)}")
    return Outcome(str(execution.values[index]["text"]), ending)


def _why(execution: Execution) -> str:
    return execution.message or execution.status


def _first_failure(history: Sequence[tuple[Action, Execution]], last: Execution) -> str:
    """What went wrong before, of which the last failure may be a consequence."""
    action, execution = next((action, execution) for action, execution in history if not execution.ok)
    if _why(execution) == _why(last):
        return ""
    return f"; first, {action.name or 'an action'} failed: {_why(execution)}"
