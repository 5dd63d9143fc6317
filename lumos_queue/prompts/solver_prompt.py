"""The system message and the prompt of a solver that answers alone (the formulations `cot` and `direct`).

A chat server's model gets an instruction that fits the benchmark's answers; LUMOS's own models need no instruction. The
text of a template (`--prompt`) is the whole prompt, without the marks of turns, unless a system message precedes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lumos_queue.notation import without_roles
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.choice_text import split_choices, write_choices
from lumos_queue.prompts.dialogue import Turn, get_framing, question_prompt
from lumos_queue.records import Role, Task
from lumos_queue.scoring.answer_kinds import AnswerKind

SYSTEM = "<|system|>\n"
FIRST_INSTRUCTED = 3  #: the version of the formulations from which on chat models are instructed
#: Asked only to think, small models reply with the answer alone.
_REASONED = 'Think step by step, and write down each step. End your reply with "The answer is" and {}.'
_BARE = "Give only the answer{}."
#: By whether the reasons are written, too, and the kind of the benchmark's answers.
INSTRUCTIONS: Mapping[bool, Mapping[AnswerKind, str]] = {
    True: {
        AnswerKind.NUMBER: _REASONED.format("the number alone, without a unit"),
        AnswerKind.CHOICE: _REASONED.format("the letter of the right choice"),
        AnswerKind.YES_NO: _REASONED.format("yes or no"),
        AnswerKind.TEXT: _REASONED.format("the answer alone, as short as possible"),
    },
    False: {
        AnswerKind.NUMBER: _BARE.format(", as a number without a unit"),
        AnswerKind.CHOICE: _BARE.format(", as the letter of the right choice"),
        AnswerKind.YES_NO: _BARE.format(", as yes or no"),
        AnswerKind.TEXT: _BARE.format(", without an explanation"),
    },
}
QUESTION = "{question}"
EXAMPLES, CHOICES = "{examples}", "{choices}"
_FIELD = re.compile(r"\{(question|choices|examples)\}")
_TURN = re.compile(r"<\|(?:system|user|assistant)\|>\n")


def solver_prompt(task: Task, agent: Agent, reasoned: bool, version: int) -> str:
    """Return the prompt for a solver.

    `reasoned`: whether the solver, and the demonstrations, give reasons. `version`: that of the formulation.

    Raises SpecError for more demonstrations than the domain has.
    """
    head = solver_prefix(agent, reasoned, version)
    if not agent.prompt:
        return head + question_prompt(task, agent.framing)
    text = fill_template(agent.prompt, task, agent, reasoned)
    if not head or _TURN.match(agent.prompt):
        return head + text
    return head + get_framing(agent.framing).write(Turn("user", text))


def solver_prefix(agent: Agent, reasoned: bool, version: int = FIRST_INSTRUCTED) -> str:
    """Return the common beginning of all prompts: the system message and, without a template, the demonstrations."""
    system = agent.system
    if system is None:
        own_turns = _TURN.match(agent.prompt)  # the template has its own system message, or no such message
        has_instruction = version >= FIRST_INSTRUCTED and agent.is_chat(Role.SOLVER) and not own_turns
        system = INSTRUCTIONS[reasoned][agent.answers] if has_instruction else ""
    head = f"{SYSTEM}{without_roles(system.strip())}\n" if system.strip() else ""
    return head if agent.prompt else head + agent.answers_shown(reasoned)


def fill_template(template: str, task: Task, agent: Agent, reasoned: bool) -> str:
    """Fill the question, its choices and the demonstrations into a template, and return the text.

    All fields are replaced at once, so that braces in a question stay. If the template has `{choices}`, the field
    `{question}` is the question without its choices.
    """
    question, choices = task.question.strip(), ""
    if agent.answers == AnswerKind.CHOICE and CHOICES in template:
        question, choice_list = split_choices(question)
        choices = write_choices(choice_list)
    values = {
        "question": without_roles(question),
        "choices": without_roles(choices),
        "examples": agent.examples_shown(reasoned) if EXAMPLES in template else "",
    }
    return _FIELD.sub(lambda match: values[match[1]], template)
