"""Determine the answer of an episode from its executions."""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.commands import Commands, Do, Final
from lumos_queue.formulations.base import VERSION
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Ending, Execution, Outcome
from lumos_queue.scoring.limit import AtLimit

ANSWERING = ("QA", "Calculator")  #: actions whose values are answers
CONCLUSION = "Conclude"  #: the action that combines answers; no grounder writes it, this module adds it

History = list[tuple[Action, Execution]]  #: the actions of an episode so far, in order


def conclude(
    agent: Agent, history: History, ending: Ending = Ending.ANSWERED, version: int = VERSION
) -> Commands[Outcome]:
    """Return the outcome of an agent that stopped. Its answer is a variable `Output` if the agent has set one.

    Otherwise `answer_by` decides: 'last' takes the last value; 'qa' and 'yes/no' ask the QA tool for an answer from all
    earlier answers, as LUMOS does (spec/lumos.md 5.2). In version 1 no semicolon follows the last of these answers.
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
    """Return the outcome of an agent at its limit of subgoals (limit.py); `agent.at_limit` decides on its answer."""
    if agent.at_limit == AtLimit.CONCLUDE:
        return (yield from conclude(agent, history, Ending.LIMIT, version))
    return last_value(history, Ending.LIMIT)


def last_value(history: Sequence[tuple[Action, Execution]], ending: Ending = Ending.ANSWERED) -> Outcome:
    """Return the value of `Output`, or else of the `R` with the highest number, as LUMOS evaluates maths.

    The ending is `no_answer` without any action, `unreadable` without a readable action, `action_error` if the action
    of that variable failed, and otherwise `ending`.
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
    """Return the first failure as text, because it may have caused the `last` one; '' if their reasons are equal."""
    action, execution = next((action, execution) for action, execution in history if not execution.ok)
    if _why(execution) == _why(last):
        return ""
    return f"; first, {action.name or 'an action'} failed: {_why(execution)}"
