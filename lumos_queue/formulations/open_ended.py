"""Open-ended tasks: a person approves a to-do list, and a policy does each line (OpenAGI, arXiv:2304.04370).

A planner is sent the objective and the tools, and writes a list, which a person approves or refuses. After a refusal
the planner is sent the person's note and writes another list. After the approval each line becomes the request to a
ReAct agent, which is also sent the answers for the earlier lines. The answer of the episode is that for the last line.
If a line fails, the next line is done nevertheless.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lumos_queue.commands import Approve, Ask, Commands, Note
from lumos_queue.endpoints.base import Sampling
from lumos_queue.formulations.base import VERSION, Formulation, Setting
from lumos_queue.formulations.decision import Decision
from lumos_queue.formulations.descriptions import DESCRIBED
from lumos_queue.formulations.policy import Policy, allows_more
from lumos_queue.formulations.react import HISTORY, POLICY_SAMPLING
from lumos_queue.formulations.settings import read_number
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import DESCRIPTIONS
from lumos_queue.prompts.open_ended import (
    UNREAD,
    DoneLine,
    ask_again,
    format_refusal,
    line_request,
    planner_prompt,
    prompt_prefixes,
)
from lumos_queue.prompts.todo_list import read_list, write_list
from lumos_queue.prompts.transcript import History
from lumos_queue.records import Ending, Outcome, Role, Subgoal, Task

WRITING = Sampling(max_tokens=1024, stop=())


def open_ended(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Ask the planner for lists until a person approves a list, then do the lines of this list."""
    settings = FORMULATION.read_settings(agent)
    prompt, position, refusal = planner_prompt(task, agent, version), 0, ""
    for _ in range(settings["tries"]):
        reply = yield from Ask(Role.PLANNER, prompt)
        position += 1
        lines = read_list(reply.text, version)
        for number, line in enumerate(lines, start=1):
            yield Note(Subgoal(number, f"Subgoal {number}: {line}"))
        position += len(lines)
        message, refusal = UNREAD, ""
        if lines:
            answer = yield from Approve(write_list(lines))
            position += 1
            if answer.ok:
                return (yield from _do_lines(task, agent, lines, position, settings["history"], version))
            message, refusal = format_refusal(answer.result), answer.result or "no reason given"
        prompt = ask_again(prompt, reply.text, message, agent)
    if refusal:
        return Outcome(None, Ending.CANCELLED, f"every plan was refused, the last one because: {refusal}")
    return Outcome(None, Ending.UNREADABLE, "no list could be read from the planner's last reply")


def _do_lines(
    task: Task, agent: Agent, lines: Sequence[str], position: int, history: History, version: int
) -> Commands[Outcome]:
    """Do each line with its own policy. All lines are on one path, so a line can use results of earlier lines.

    `position`: that of the next command.
    """
    finished_lines: list[DoneLine] = []
    node = Decision()
    for _ in lines:
        line_task = replace(task, question=line_request(task.question, lines, finished_lines))
        policy = Policy(line_task, agent, history, position, version)
        node = Decision(position=node.position)
        while allows_more(agent, node) and not node.is_answer and not node.gave_up:
            completion, reply_position = yield from policy.decide(node)
            node = yield from policy.act(node, completion, reply_position)
        position = policy.next
        finished_lines.append(DoneLine(lines[len(finished_lines)], node.answer if node.is_answer else ""))
    if node.is_answer:
        return Outcome(node.answer, Ending.ANSWERED)
    ending = Ending.GAVE_UP if node.gave_up else Ending.LIMIT
    return Outcome(None, ending, f"the last line could not be done: {lines[-1]}")


FORMULATION = Formulation(
    "open-ended",
    open_ended,
    (Role.PLANNER, Role.POLICY),
    functions=True,
    approved=True,
    versioned=True,
    settings={
        "tries": Setting("3", "lists that a planner writes, until one is approved", read_number(1, 20)),
        "history": HISTORY,
        DESCRIPTIONS: DESCRIBED,
    },
    limits=Limits(depth=24),  # of each line
    samplings={Role.PLANNER: WRITING, Role.POLICY: POLICY_SAMPLING},
    prefixes=prompt_prefixes,
)
