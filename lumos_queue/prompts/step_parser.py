"""The prompt that asks a model which expert a step of a plan names. The wording is ours.

The paper's prompt lists 13 names, without Fill Mask; this prompt lists the 15 names that plans may use.
"""

from __future__ import annotations

from lumos_queue.experts.catalogue import PLANNABLE
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.tool_agent import first_prompt

MAX_STEP = 1000  #: characters of a step that are sent
NONE = "none"
HEAD = f"""\
You are sent one step of a plan. Reply with the name of the model of the list that the step uses, exactly as it is \
listed, and with nothing else. If the step uses no model of the list, reply with the word "{NONE}".
The models:
{"".join(f"- {name}" + chr(10) for name in PLANNABLE)}"""


def step_of(text: str) -> str:
    """Return the part of a step's text that is sent."""
    return text[:MAX_STEP]


def parser_prompt(step: str, agent: Agent) -> str:
    """Return the prompt about a step. Marks of roles in the step are broken."""
    return first_prompt(HEAD, f"Step: {step}", agent)
