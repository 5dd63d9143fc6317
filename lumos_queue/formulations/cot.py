"""Chain of thought: one model writes its reasoning and the answer on one line. Nothing is executed."""

from __future__ import annotations

from lumos_queue.commands import Ask, Commands
from lumos_queue.formulations.base import VERSION, Formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.answer_reading import conclude
from lumos_queue.prompts.gold_replies import write_reasoning
from lumos_queue.prompts.single_model import read_cot_answer
from lumos_queue.prompts.solver_prompt import solver_prefix, solver_prompt
from lumos_queue.records import Outcome, Role, Task


def cot(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Make one model call, and read the answer at the end of the reply."""
    reply = yield from Ask(Role.SOLVER, solver_prompt(task, agent, True, version))
    return conclude(reply, task, agent, version, read_cot_answer)


FORMULATION = Formulation(
    "cot",
    cot,
    (Role.SOLVER,),
    executes=False,
    demonstrated=True,
    versioned=True,
    instructed=True,
    phrase=read_cot_answer,
    reasons=True,
    write_gold=write_reasoning,
    prefixes=lambda agent: {Role.SOLVER: solver_prefix(agent, True)},
)
