"""Convert a solver's reply into the outcome of its episode, for the formulations `cot` and `direct`, whose only reply
has the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lumos_queue.endpoints.urls import CHAT_SCHEMES, scheme_of
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.choice_text import split_choices
from lumos_queue.records import Completion, Ending, FinishReason, Outcome, Role, Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.answer_readers import AnswerReader, Expected, other_reader, read_flexible

FIRST_READ = 3  #: the version of the formulations from which on there is a choice of reader
Phrase = Callable[[str], str]  #: how the reader `phrase` reads a formulation's reply; '' where it names no answer


def reader_of(agent: Agent, version: int) -> AnswerReader:
    """Return the reader of an agent's replies: `agent.reader`, or by default `flexible` for a chat server's model.

    Raises ValueError for an unknown name; a submission with such a name is refused earlier.
    """
    return AnswerReader(_reader(agent.reader, agent.roles, version))


def find_stored_reader(infer: Mapping[str, Any]) -> str:
    """Return the name of the reader that a stored inference (its JSON) uses, even if its agent names none."""
    agent = infer["agent"]
    return str(_reader(agent.get("reader", ""), agent.get("roles", {}), infer.get("formulation_version", 1)))


def _reader(name: str, roles: Mapping[str, str], version: int) -> str:
    if version < FIRST_READ:
        return AnswerReader.PHRASE
    is_chat = scheme_of(roles.get(Role.SOLVER, "")) in CHAT_SCHEMES
    return name or (AnswerReader.FLEXIBLE if is_chat else AnswerReader.PHRASE)


def conclude(reply: Completion, task: Task, agent: Agent, version: int, phrase: Phrase) -> Outcome:
    """Return the outcome of an episode that ends with this reply. It includes what the other reader would answer."""
    reader = reader_of(agent, version)
    answer = read_answer(reply, task, agent.answers, reader, phrase)
    readings: tuple[tuple[str, str | None], ...] = ()
    if version >= FIRST_READ:
        second_reader = other_reader(reader)
        readings = ((second_reader.value, read_answer(reply, task, agent.answers, second_reader, phrase)),)
    if answer is None:
        return Outcome(None, Ending.NO_ANSWER, _explain(reply, version), readings)
    return Outcome(answer, Ending.ANSWERED, readings=readings)


def read_answer(reply: Completion, task: Task, kind: AnswerKind, reader: AnswerReader, phrase: Phrase) -> str | None:
    """Return the answer that a reader extracts from a reply, or None if it extracts none. `phrase`: see `Phrase`."""
    if reader == AnswerReader.PHRASE:
        return phrase(reply.text) or None
    choices = split_choices(task.question)[1] if kind == AnswerKind.CHOICE else ()
    return read_flexible(reply.text, Expected(kind, choices), reply.finish_reason == FinishReason.LENGTH)


def _explain(reply: Completion, version: int) -> str:
    if not reply.text.strip():
        return "the reply is empty"
    if version >= FIRST_READ and reply.finish_reason == FinishReason.LENGTH:
        return "the reply reached the limit of tokens before it named an answer"
    return "the reply names no answer"
