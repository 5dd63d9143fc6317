"""A formulation that returns the answer of a stored episode without model calls, for `lumos score --judge`."""

from __future__ import annotations

from lumos_queue.commands import Commands
from lumos_queue.formulations.base import formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.judged_run import STORED
from lumos_queue.records import Ending, Outcome, Task


@formulation("stored-answer", roles=(), executes=False, of_episodes=True)
def FORMULATION(task: Task, agent: Agent) -> Commands[Outcome]:
    """End with the answer and the ending of the stored episode in the task; `infra_error` leaves it without result."""
    if STORED not in task.inputs:
        message = "the task is no stored episode: judge those of a job with lumos score JOB --judge URL"
        return Outcome(None, Ending.NO_ANSWER, message)
    episode = task.inputs[STORED]
    yield from ()
    return Outcome(episode["answer"], Ending(episode["ending"]))
