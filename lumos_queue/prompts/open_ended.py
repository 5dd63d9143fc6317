"""Prompts for open-ended tasks: for the planner of a to-do list, and for the policy that does a line of the list.

The wording is this project's own, but the flow is OpenAGI's for open-ended tasks: a planner is sent the objective and
the tools with their descriptions; then an agent is sent each approved line with the results of the earlier lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lumos_queue.notation import without_roles
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import Turn, get_framing
from lumos_queue.prompts.todo_list import write_list
from lumos_queue.prompts.tool_agent import SYSTEM, first_prompt, list_functions, policy_prefixes, request
from lumos_queue.records import Role, Task

PLANNER = """\
You plan how to reach a person's objective with the functions listed. Write a to-do list: numbered, one line for each \
thing to do, in the order in which it is to be done, each so complete that it can be done by somebody who reads only \
this line, the objective and what the lines before it gave. Name in each line the function it needs. The last line \
gives the whole result. A person reads the list before anything of it is done. Write only the list.
"""
UNREAD = "No numbered list could be read from this. Write a numbered list, one line for each thing to do."
_NOW = "Now do line"
_ASKED = re.compile(rf"^{_NOW} ([0-9]+), and nothing else: (.*)$", re.MULTILINE)
MAX_RESULT = 4_000  #: characters of the result of a line in the prompts of later lines


@dataclass(frozen=True, slots=True)
class DoneLine:
    """A line of the list that was tried, with its result; the result is '' if the line could not be done."""

    line: str
    result: str


def planner_prompt(task: Task, agent: Agent, version: int) -> str:
    return first_prompt(PLANNER, request(task, list_functions(task, agent, version).without_finish()), agent)


def ask_again(prompt: str, reply: str, message: str, agent: Agent) -> str:
    """Return the planner's next prompt: the earlier prompt, its reply, and `message` about this reply."""
    style = get_framing(agent.framing)
    return prompt + style.write(Turn("assistant", reply)) + style.write(Turn("user", without_roles(message)))


def format_refusal(note: str) -> str:
    note_text = f" and says: {note.strip()}" if note.strip() else ""
    return f"The person does not approve this list{note_text}\nWrite the whole list anew."


def line_request(objective: str, lines: Sequence[str], done_lines: Sequence[DoneLine]) -> str:
    """Return the request to do the next line, with the objective, the list, and the results of earlier lines."""
    parts = [f"Objective: {objective.strip()}", f"To-do list:\n{write_list(lines)}"]
    if done_lines:
        parts.append(
            "Done so far:\n" + "\n".join(_tell(number, line) for number, line in enumerate(done_lines, start=1))
        )
    number = len(done_lines) + 1
    return "\n\n".join([*parts, f"{_NOW} {number}, and nothing else: {lines[number - 1]}"])


def read_line(prompt: str) -> str:
    """Return the line, with its number, that a policy's prompt asks for; '' if the prompt asks for no line."""
    requests = _ASKED.findall(prompt)
    return "{}. {}".format(*requests[-1]) if requests else ""


def prompt_prefixes(agent: Agent) -> Mapping[str, str]:
    return {Role.PLANNER: SYSTEM + PLANNER, **policy_prefixes(agent)}


def _tell(number: int, line: DoneLine) -> str:
    remaining = len(line.result) - MAX_RESULT
    cut = f"{line.result[:MAX_RESULT]}... [{remaining:,} characters left out]" if remaining > 0 else line.result
    return f"{number}. {cut}" if line.result else f"{number}. could not be done"
