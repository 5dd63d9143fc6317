"""Ask planner, grounder and solver, and choose the parts of their replies for later prompts.

Replies in LUMOS's notation are one line, and stay unchanged. Since version 3 of the formulations an instruct model over
`chat://` may write Markdown, several lines, and more than the requested step (prompts/instruct_subgoals.py,
instruct_actions.py). Only the step that is read from its reply is in later prompts, in LUMOS's notation. So the model
does not see a premature plan again, and conversations have the form of training data. If the reply has no subgoal, a
second request is made, which is in no later prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from lumos_queue.commands import Ask, Commands
from lumos_queue.notation import read_plan, read_subgoal, says_stop, write_plan, write_subgoal
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import Dialogue, amend
from lumos_queue.prompts.instruct_subgoals import read_next_subgoal, read_whole_plan
from lumos_queue.prompts.single_model import read_integrated
from lumos_queue.records import Action, Role, Subgoal

INSTRUCT = 3  #: the first version that reads replies over `chat://` as those of instruct models
_FIRST = "Please write the first subgoal on one line, in this form: Subgoal 1: ..."
_NEXT = "Please write one line: 'Yes, I will stop planning.', or the next subgoal in this form: Subgoal {number}: ..."
_WHOLE = "Please write all subgoals on one line, in this form: Subgoal 1: ...; Subgoal 2: ..."

Reading = TypeVar("Reading")


@dataclass(frozen=True, slots=True)
class NextStep:
    """The content of a planner's or a solver's reply: a stop, a subgoal, or neither if nothing could be read."""

    stops: bool
    subgoal: Subgoal | None
    text: str  #: the text for later prompts
    grounding: str = ""  #: the actions of a solver, as text
    actions: Sequence[Action] = ()


def ask_subgoal(agent: Agent, dialogue: Dialogue, number: int, version: int) -> Commands[NextStep]:
    """Ask the planner for subgoal `number`. A model over `chat://` is asked again if its reply has no subgoal."""
    prompt = dialogue.to_planner()
    if not _is_instruct(agent, Role.PLANNER, version):
        reply = yield from Ask(Role.PLANNER, prompt)
        stops = says_stop(reply.text)
        return NextStep(stops, None if stops else read_subgoal(reply.text, number), reply.text)

    def read(text: str) -> NextStep:
        entry = read_next_subgoal(text, number)
        return NextStep(entry.stops, entry.subgoal, write_subgoal(entry.subgoal) if entry.subgoal else text)

    return (yield from _ask_twice(Role.PLANNER, prompt, _next_request(number), read, _is_empty))


def ask_plan(agent: Agent, dialogue: Dialogue, version: int) -> Commands[tuple[Sequence[Subgoal], str]]:
    """Ask the planner for all subgoals. Return the subgoals, and the plan as text for the grounder.

    A model over `chat://` is asked again if its reply has no subgoal.
    """
    prompt = dialogue.to_planner()
    if not _is_instruct(agent, Role.PLANNER, version):
        reply = yield from Ask(Role.PLANNER, prompt)
        return read_plan(reply.text), reply.text
    subgoals = yield from _ask_twice(Role.PLANNER, prompt, _WHOLE, read_whole_plan, lambda plan: not plan)
    return subgoals, write_plan(subgoals)


def ask_actions(agent: Agent, dialogue: Dialogue, subgoal: Subgoal, version: int) -> Commands[Sequence[Action]]:
    """Ask the grounder for the actions of a subgoal, and add them to its conversation."""
    reply = yield from Ask(Role.GROUNDER, dialogue.to_grounder())
    if not _is_instruct(agent, Role.GROUNDER, version):
        return dialogue.add_grounding(reply.text)
    actions = dialogue.read_instruct(reply.text, subgoal.number)
    dialogue.add_actions(actions)
    return actions


def ask_all_actions(agent: Agent, dialogue: Dialogue, plan: str, version: int) -> Commands[Sequence[Action]]:
    """Ask the grounder for the actions of a whole plan."""
    reply = yield from Ask(Role.GROUNDER, dialogue.to_grounder_all(plan))
    is_instruct = _is_instruct(agent, Role.GROUNDER, version)
    return dialogue.read_instruct(reply.text) if is_instruct else dialogue.read(reply.text)


def ask_solution(agent: Agent, dialogue: Dialogue, number: int, version: int) -> Commands[NextStep]:
    """Ask the solver for subgoal `number` with its actions, as `ask_subgoal` asks the planner."""
    prompt = dialogue.to_solver()
    if not _is_instruct(agent, Role.SOLVER, version):
        reply = yield from Ask(Role.SOLVER, prompt)
        if says_stop(reply.text):
            return NextStep(True, None, reply.text)
        subgoal, grounding = read_integrated(reply.text, number)
        return NextStep(False, subgoal, reply.text, grounding, dialogue.read(grounding))

    def read(text: str) -> NextStep:
        entry = read_next_subgoal(text, number)
        if entry.subgoal is None:
            return NextStep(entry.stops, None, text)
        actions = dialogue.read_instruct(text, number, must_act=False)
        grounding = "; ".join(action.raw for action in actions)
        text = write_subgoal(entry.subgoal)
        return NextStep(False, entry.subgoal, f"{text} Actions: {grounding}" if actions else text, grounding, actions)

    request = f"{_next_request(number)} Actions: R1 = ..."
    return (yield from _ask_twice(Role.SOLVER, prompt, request, read, _is_empty))


def _is_instruct(agent: Agent, role: str, version: int) -> bool:
    return version >= INSTRUCT and agent.is_chat(role)


def _next_request(number: int) -> str:
    return _FIRST if number == 1 else _NEXT.format(number=number)


def _is_empty(step: NextStep) -> bool:
    return not step.stops and step.subgoal is None


def _ask_twice(
    role: str, prompt: str, request: str, read: Callable[[str], Reading], is_empty: Callable[[Reading], bool]
) -> Commands[Reading]:
    """Ask a role and read its reply. If the reading is empty, add `request` to the prompt, ask again, and read that."""
    reply = yield from Ask(role, prompt)
    reading = read(reply.text)
    if is_empty(reading):
        reply = yield from Ask(role, amend(prompt, request))
        reading = read(reply.text)
    return reading
