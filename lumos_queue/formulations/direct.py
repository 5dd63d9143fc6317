"""Direct: one model writes the answer alone (the paper's vanilla training). Nothing is executed."""

from __future__ import annotations

from lumos_queue.commands import Ask, Commands
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.solver_prompt import solver_prefix, solver_prompt
from lumos_queue.records import Ending, Outcome, Task


def direct(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """One model call. The whole reply is the answer."""
    reply = yield from Ask("solver", solver_prompt(task, agent, False, version))
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
    versioned=True,
    instructed=True,
    prefixes=lambda agent: {"solver": solver_prefix(agent, False)},
)
