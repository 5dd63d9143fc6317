"""Direct: one model writes the answer alone (the paper's vanilla training). Nothing is executed."""

from __future__ import annotations

from lumos_queue.commands import Ask, Commands
from lumos_queue.formulations.base import Formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import question_prompt
from lumos_queue.records import Ending, Outcome, Task


def direct(task: Task, agent: Agent) -> Commands[Outcome]:
    """One model call. The whole reply is the answer."""
    reply = yield from Ask("solver", agent.answers_shown(reasoned=False) + question_prompt(task, agent.framing))
    answer = reply.text.strip()
    if not answer:
        return Outcome(None, Ending.NO_ANSWER, "the reply is empty")
    return Outcome(answer, Ending.ANSWERED)


FORMULATION = Formulation(
    "direct",
    direct,
    ("solver",),
    executes=False,
    demonstrated=True,
    prefixes=lambda agent: {"solver": agent.answers_shown(reasoned=False)},
)
