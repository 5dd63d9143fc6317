"""Direct: one model writes only the answer (the paper's vanilla training). Nothing is executed."""

from __future__ import annotations

from lumos_queue.commands import Ask, Commands
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.answer_reading import conclude
from lumos_queue.prompts.gold_replies import write_answer
from lumos_queue.prompts.solver_prompt import solver_prefix, solver_prompt
from lumos_queue.records import Outcome, Role, Task


def direct(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Make one model call. For the reader `phrase`, the whole reply is the answer."""
    reply = yield from Ask(Role.SOLVER, solver_prompt(task, agent, False, version))
    return conclude(reply, task, agent, version, str.strip)


FORMULATION = Formulation(
    "direct",
    direct,
    (Role.SOLVER,),
    executes=False,
    demonstrated=True,
    versioned=True,
    instructed=True,
    phrase=str.strip,
    write_gold=write_answer,
    prefixes=lambda agent: {Role.SOLVER: solver_prefix(agent, False)},
)
