"""One episode of LUMOS-I with the real formulation, dialogue and maths tools; its models' replies are written below.

python examples/hello_episode.py
"""

import asyncio

from lumos_queue.commands import Ask, Do
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.iterative import iterative
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task

TASK = Task("hello", "by hand", "1", "A box holds 12 pens. Mia buys 3 boxes and gives 5 pens away. How many are left?")
PLANNER = [
    "Subgoal 1: Calculate the number of pens in 3 boxes of 12.",
    "No, I will keep planning. Subgoal 2: Calculate the number of pens left after giving 5 away.",
    "Yes, I will stop planning.",
]
GROUNDER = ["R1 = Calculator(12 * 3)", "R2 = Calculator(R1 - 5)"]


async def main() -> None:
    endpoints = {"planner": Scripted(PLANNER), "grounder": Scripted(GROUNDER)}
    agent = Agent(roles={role: endpoint.url for role, endpoint in endpoints.items()}, domain="maths")
    executor = Executor(endpoints, DOMAINS.load("maths").open_actions(), Sampling(), seed=0)
    journal = MemoryJournal()
    async with executor.for_episode(TASK, sample=0) as perform:
        run = await run_episode(iterative, TASK, agent, journal, perform)
    for step in journal.steps:
        if isinstance(step.command, Ask):
            print(f"{step.command.role:>8}: {step.result.text}")
        elif isinstance(step.command, Do):
            print(f"{'tool':>8}: {step.command.action.raw} = {step.result.result}")
    print(f"{run.outcome.ending}: {run.outcome.answer}")


if __name__ == "__main__":
    asyncio.run(main())
