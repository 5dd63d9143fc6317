"""Read the plan of a planner's reply, by names, by a sentence encoder, or by a model that is asked about each step."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lumos_queue.commands import Ask, Commands
from lumos_queue.experts.encoder import MODEL, ParserChoice, open_parser
from lumos_queue.experts.names import exact_name
from lumos_queue.experts.parsing import ParsedPlan, parse_plan
from lumos_queue.experts.plans import Signature
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.step_parser import HEAD, parser_prompt, step_of
from lumos_queue.prompts.tool_agent import SYSTEM
from lumos_queue.records import Completion, Role

MAX_STEPS = 64  #: different steps of a reply about which a model is asked
MAX_NAME = 200  #: characters of its reply that are read
UNRESOLVED = "names no expert: "  #: beginning of the note of a step without a known expert
_NO_ROLES: Mapping[str, str] = MappingProxyType({})


def read_plan(text: str, signature: Signature, choice: ParserChoice, agent: Agent) -> Commands[ParsedPlan]:
    """Return the plan that a reply contains. With a model as parser, ask it about all steps at once.

    Equal steps are asked about once. A step beyond MAX_STEPS, and one whose answer is no name, is unresolved.
    """
    if not choice.url:
        return parse_plan(text, signature, open_parser(choice))
    steps: dict[str, str] = {}
    parse_plan(text, signature, lambda step: steps.setdefault(step_of(step), ""))
    questions = [step for step in steps if any(map(str.isalnum, step))][:MAX_STEPS]
    if questions:
        replies = yield [Ask(Role.PARSER, parser_prompt(step, agent)) for step in questions]
        assert isinstance(replies, list)
        for step, reply in zip(questions, replies, strict=True):
            assert isinstance(reply, Completion)
            steps[step] = _read_name(reply.text)
    return parse_plan(text, signature, lambda step: steps[step_of(step)])


def name_parser(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Return the role and the address of the model that the setting `parser` names; {} if it names no address."""
    kind, _, url = settings.get("parser", "").partition(":")
    return {Role.PARSER: url} if kind == MODEL and ":" in url else _NO_ROLES


def parser_prefixes(choice: ParserChoice) -> dict[str, str]:
    """Return by role the text with which all prompts about steps begin; {} if no model is asked."""
    return {Role.PARSER: SYSTEM + HEAD} if choice.url else {}


def _read_name(reply: str) -> str:
    """Return the expert whose name is the whole first line of a reply, without marks around it; '' if it is none."""
    line = reply[:MAX_NAME].strip().partition("\n")[0]
    return exact_name(line.strip(" \t\"'`*_.,:;-"))
